//! What goes wrong by rule.

use aws_sdk_ec2::error::SdkError;
use pretty_assertions::assert_eq;

use super::*;
use crate::aws::stand::ec2::Trouble;
use crate::aws::stand::when::When;

#[tokio::test]
async fn refusals_have_their_status_and_leave_nothing() {
    let (ec2, client) = stand_in();
    for (code, status) in [
        ("InsufficientInstanceCapacity", 500),
        ("RequestLimitExceeded", 503),
        ("UnauthorizedOperation", 403),
        ("InternalError", 500),
        ("Unavailable", 503),
        ("VcpuLimitExceeded", 400),
        ("MaxSpotInstanceCountExceeded", 400),
    ] {
        ec2.rule("RunInstances", When::Nth(1), Trouble::Refused(code));
        let refused = launch(&client, "a").send().await.expect_err("refused");
        let answered = refused
            .raw_response()
            .map(|answer| answer.status().as_u16());
        assert_eq!(answered, Some(status), "{code}");
        assert_eq!(word(refused), code);
        ec2.calm();
    }
    assert_eq!(ec2.instances(|_| ()).len(), 0);
    // A refused launch has not used its token up.
    ec2.rule(
        "RunInstances",
        When::First(2),
        Trouble::Refused("RequestLimitExceeded"),
    );
    for _ in 0..2 {
        let refused = launched(launch(&client, "a")).await;
        assert_eq!(refused, Err("RequestLimitExceeded".to_owned()));
    }
    one(&client, "a").await;
    assert_eq!(ec2.count("RunInstances"), 10);
}

#[tokio::test]
async fn an_answer_may_be_lost_after_the_effect_and_a_request_before_it() {
    let (ec2, client) = stand_in();
    ec2.rule("RunInstances", When::Nth(1), Trouble::RequestLost);
    ec2.rule("RunInstances", When::Nth(2), Trouble::AnswerLost);
    ec2.rule("RunInstances", When::Nth(3), Trouble::DoneButFailed);
    let mut seen = Vec::new();
    for token in ["a", "b", "c"] {
        let lost = launch(&client, token).send().await.expect_err("no answer");
        let cut = matches!(
            lost,
            SdkError::DispatchFailure(_) | SdkError::ResponseError(_)
        );
        seen.push((cut, word(lost), ec2.instances(|_| ()).len()));
    }
    let words = |cut, code: &str, instances| (cut, code.to_owned(), instances);
    assert_eq!(
        seen,
        [
            words(true, "no answer", 0),
            words(true, "no answer", 1),
            words(false, "InternalError", 2),
        ]
    );
    // Whoever repeats the launch finds what came of it.
    for token in ["a", "b", "c"] {
        one(&client, token).await;
    }
    assert_eq!(ec2.instances(|_| ()).len(), 3);
    ec2.rule("TerminateInstances", When::Every, Trouble::AnswerLost);
    let id = ec2.instances(|i| i.id.clone()).remove(0);
    assert_eq!(terminate(&client, &id).await, Err("no answer".to_owned()));
    assert_eq!(states(&client).await, ["terminated", "running", "running"]);
}

#[tokio::test]
async fn a_rule_may_be_about_one_subnet() {
    let (ec2, client) = stand_in();
    let subnets = client.describe_subnets().send().await.expect("subnets");
    let subnets: Vec<_> = { subnets.subnets().iter() }
        .filter_map(|subnet| subnet.subnet_id().map(str::to_owned))
        .collect();
    let full = Trouble::Refused("InsufficientInstanceCapacity");
    ec2.rule_about("RunInstances", subnets[0].clone(), When::Every, full);
    let mut answers = Vec::new();
    for subnet in &subnets {
        let answer = launched(launch(&client, "a").subnet_id(subnet)).await;
        answers.push(answer.map(|ids| ids.len()));
    }
    let full = Err("InsufficientInstanceCapacity".to_owned());
    assert_eq!(answers, [full, Ok(1), Ok(1)]);
}

#[tokio::test]
async fn who_does_not_sign_for_ec2_and_what_is_no_operation_is_refused() {
    let (ec2, client) = stand_in();
    let unknown = client.describe_volumes().send().await;
    assert_eq!(
        unknown.map(drop).map_err(word),
        Err("InvalidAction".to_owned())
    );
    let form = "Action=DescribeInstances&Version=2016-11-15";
    for other in [
        "",
        "AWS4-HMAC-SHA256 Credential=a/20260101/eu-west-1/s3/aws4_request",
    ] {
        let (status, text) = asked(&ec2.url(), form, other).await;
        assert_eq!(status, 401);
        assert!(text.contains("<Code>AuthFailure</Code>"), "{text}");
    }
}
