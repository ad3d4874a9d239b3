//! What becomes of instances, and how they are found.

use aws_sdk_ec2::types::ResourceType;
use pretty_assertions::assert_eq;

use super::*;
use crate::aws::stand::ec2::{Ended, Pace, State};

#[tokio::test]
async fn an_instance_is_pending_then_running_then_shutting_down_then_terminated() {
    let (ec2, client) = stand_in();
    let answer = launch(&client, "a").send().await.expect("a launch");
    let (id, state) = seen(&answer.instances()[0]);
    assert_eq!(state, "pending");
    assert_eq!(states(&client).await, ["running"]);
    let change = client
        .terminate_instances()
        .instance_ids(&id)
        .send()
        .await
        .expect("it ends");
    let change = &change.terminating_instances()[0];
    let name = |state: Option<&aws_sdk_ec2::types::InstanceState>| {
        state
            .and_then(|state| state.name())
            .map(|name| name.as_str().to_owned())
    };
    assert_eq!(name(change.previous_state()).as_deref(), Some("running"));
    assert_eq!(
        name(change.current_state()).as_deref(),
        Some("shutting-down")
    );
    assert_eq!(states(&client).await, ["terminated"]);
    // Again is no error, and what ended long ago is not known.
    terminate(&client, &id).await.expect("it has ended");
    assert_eq!(states(&client).await, ["terminated"]);
    ec2.forget(&id);
    assert_eq!(
        terminate(&client, &id).await,
        Err("InvalidInstanceID.NotFound".to_owned())
    );
    assert!(states(&client).await.is_empty());
}

#[tokio::test]
async fn a_new_instance_may_be_unseen_for_a_while_and_one_that_ends_may_take_its_time() {
    let (ec2, client) = stand_in();
    ec2.pace(Pace {
        unseen: 2,
        pending: 3,
        shutting_down: 2,
    });
    let id = one(&client, "a").await;
    // Nobody knows it, though its token does.
    let unknown = client.describe_instances().instance_ids(&id).send().await;
    assert_eq!(
        unknown.map(drop).map_err(word),
        Err("InvalidInstanceID.NotFound".to_owned())
    );
    assert_eq!(
        terminate(&client, &id).await,
        Err("InvalidInstanceID.NotFound".to_owned())
    );
    assert_eq!(one(&client, "a").await, id);
    let mut seen = Vec::new();
    for _ in 0..5 {
        seen.push(states(&client).await.join(" "));
    }
    assert_eq!(seen, ["", "", "pending", "running", "running"]);
    terminate(&client, &id).await.expect("it ends");
    let mut seen = Vec::new();
    for _ in 0..4 {
        seen.push(states(&client).await.join(" "));
    }
    assert_eq!(
        seen,
        ["shutting-down", "shutting-down", "terminated", "terminated"]
    );
    // What is on its way arrives when a test says so.
    one(&client, "b").await;
    ec2.hurry();
    assert_eq!(states(&client).await, ["terminated", "running"]);
}

#[tokio::test]
async fn an_instance_that_ends_without_being_told_to_says_why() {
    let (ec2, client) = stand_in();
    let by_template = launch(&client, "a").instance_initiated_shutdown_behavior("terminate".into());
    launched(by_template).await.expect("a launch");
    for token in ["b", "c", "d"] {
        one(&client, token).await;
    }
    let ids = ec2.instances(|i| i.id.clone());
    for (id, why) in ids
        .iter()
        .zip([Ended::Itself, Ended::Itself, Ended::Host, Ended::Reclaimed])
    {
        ec2.end(id, why);
    }
    let answer = client.describe_instances().send().await.expect("instances");
    let told: Vec<_> = { answer.reservations().iter() }
        .flat_map(|r| r.instances())
        .map(|i| {
            (
                seen(i).1,
                i.state_reason().and_then(|r| r.code()).unwrap_or_default(),
            )
        })
        .collect();
    let words = |state: State, code| (state.name().to_owned(), code);
    assert_eq!(
        told,
        [
            words(State::Terminated, "Client.InstanceInitiatedShutdown"),
            // Without being told otherwise, an instance that is shut down from inside stops, and costs on.
            words(State::Stopped, "Client.InstanceInitiatedShutdown"),
            words(State::Terminated, "Server.InternalError"),
            words(State::Terminated, "Server.SpotInstanceTermination"),
        ]
    );
}

#[tokio::test]
async fn instances_are_found_by_tags_and_states() {
    let (_ec2, client) = stand_in();
    let with = |tags: &[(&str, &str)]| {
        client
            .run_instances()
            .image_id(IMAGE)
            .min_count(1)
            .max_count(1)
            .tag_specifications(tagged(ResourceType::Instance, tags))
    };
    let mut ids = Vec::new();
    for tags in [
        [("d", "one"), ("s", "1")],
        [("d", "one"), ("s", "2")],
        [("d", "two"), ("x", "")],
    ] {
        ids.extend(launched(with(&tags)).await.expect("a launch"));
    }
    terminate(&client, &ids[1]).await.expect("it ends");
    for (filters, found) in [
        (vec![], vec![0, 1, 2]),
        (vec![filter("tag:d", &["one"])], vec![0, 1]),
        (
            vec![filter("tag:d", &["one"]), filter("tag:s", &["2", "3"])],
            vec![1],
        ),
        (vec![filter("tag:d", &["t*", "?ne"])], vec![0, 1, 2]),
        (vec![filter("tag-key", &["x"])], vec![2]),
        (vec![filter("tag:x", &[""])], vec![2]),
        (
            vec![filter("instance-state-name", &["pending", "running"])],
            vec![0, 2],
        ),
        (
            vec![
                filter("instance-state-name", &["terminated"]),
                filter("tag:s", &["1", "2"]),
            ],
            vec![1],
        ),
        (vec![filter("instance-id", &[&ids[2]])], vec![2]),
        (vec![filter("tag:nothing", &["*"])], vec![]),
    ] {
        let shown = format!("{filters:?}");
        let seen = described(&client, filters).await.expect("instances");
        let seen: Vec<_> = seen.into_iter().map(|(id, _)| id).collect();
        let wanted: Vec<_> = found.into_iter().map(|n: usize| ids[n].clone()).collect();
        assert_eq!(seen, wanted, "{shown}");
    }
    for (filters, code) in [
        (vec![filter("colour", &["red"])], "InvalidParameterValue"),
        (vec![filter("tag:d", &[])], "InvalidParameterValue"),
        (vec![filter("tag:d", &["x"; 201])], "FilterLimitExceeded"),
    ] {
        assert_eq!(described(&client, filters).await, Err(code.to_owned()));
    }
}

#[tokio::test]
async fn what_does_not_fit_on_a_page_is_on_the_next_one() {
    let (ec2, client) = stand_in();
    for n in 0..12 {
        one(&client, &n.to_string()).await;
    }
    let ids = ec2.instances(|i| i.id.clone());
    // Pages end where the request wants, and where EC2 wants.
    ec2.page(7);
    for (wanted, sizes) in [(Some(5), vec![5, 5, 2]), (None, vec![7, 5])] {
        let pages = client
            .describe_instances()
            .set_max_results(wanted)
            .into_paginator();
        let mut pages = pages.send();
        let (mut seen_sizes, mut seen_ids) = (Vec::new(), Vec::new());
        while let Some(page) = pages.next().await {
            let page = page.expect("a page");
            let some = page.reservations().iter().flat_map(|r| r.instances());
            let some: Vec<_> = some.map(|i| seen(i).0).collect();
            seen_sizes.push(some.len());
            seen_ids.extend(some);
        }
        assert_eq!((seen_sizes, &seen_ids), (sizes, &ids));
    }
    for (ask, code) in [
        (
            client.describe_instances().max_results(4),
            "InvalidParameterValue",
        ),
        (
            client.describe_instances().next_token("x"),
            "InvalidPaginationToken",
        ),
        (
            client
                .describe_instances()
                .max_results(5)
                .instance_ids(&ids[0]),
            "InvalidParameterCombination",
        ),
    ] {
        assert_eq!(
            ask.send().await.map(drop).map_err(word),
            Err(code.to_owned())
        );
    }
}

#[tokio::test]
async fn ids_that_are_none_end_nothing() {
    let (_ec2, client) = stand_in();
    let id = one(&client, "a").await;
    for (other, code) in [
        ("bogus", "InvalidInstanceID.Malformed"),
        ("i-xyz", "InvalidInstanceID.Malformed"),
        ("i-00000000000000000", "InvalidInstanceID.NotFound"),
    ] {
        let both = client
            .terminate_instances()
            .instance_ids(&id)
            .instance_ids(other);
        assert_eq!(
            both.send().await.map(drop).map_err(word),
            Err(code.to_owned())
        );
        let both = client.describe_instances().instance_ids(other).send().await;
        assert_eq!(both.map(drop).map_err(word), Err(code.to_owned()));
    }
    assert_eq!(states(&client).await, ["running"]);
}

#[tokio::test]
async fn tags_are_made_changed_and_deleted() {
    let (ec2, client) = stand_in();
    let id = one(&client, "a").await;
    let tags = |ec2: &Ec2| ec2.instances(|i| format!("{:?}", i.tags)).concat();
    for (a, b) in [("1", "2"), ("3", "2")] {
        let make = client
            .create_tags()
            .resources(&id)
            .tags(tag("a", a))
            .tags(tag("b", b));
        make.send().await.expect("tags");
    }
    assert_eq!(tags(&ec2), r#"{"a": "3", "b": "2"}"#);
    let other = client.delete_tags().resources(&id).tags(tag("a", "1"));
    other.send().await.expect("nothing to do");
    let any = aws_sdk_ec2::types::Tag::builder().key("b").build();
    client
        .delete_tags()
        .resources(&id)
        .tags(any)
        .send()
        .await
        .expect("one less");
    assert_eq!(tags(&ec2), r#"{"a": "3"}"#);
    let many = (0..50).map(|n| tag(&n.to_string(), "")).collect();
    let many = client
        .create_tags()
        .resources(&id)
        .set_tags(Some(many))
        .send()
        .await;
    assert_eq!(
        many.map(drop).map_err(word),
        Err("TagLimitExceeded".to_owned())
    );
    assert_eq!(tags(&ec2), r#"{"a": "3"}"#);
}
