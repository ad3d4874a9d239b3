//! Refusals in the words of DynamoDB and of S3.

use serde_json::json;

use super::{Fault, Message};

/// The answer to this request under a fault that has one.
pub(super) fn to(request: &Message, fault: &Fault) -> Vec<u8> {
    if request.header("x-amz-target").is_some() {
        dynamodb(fault)
    } else {
        s3(request, fault)
    }
}

/// An answer as a service gives it that knows no better.
pub(super) fn said(body: &str) -> Vec<u8> {
    message(200, "application/x-amz-json-1.1", body)
}

fn dynamodb(fault: &Fault) -> Vec<u8> {
    let (status, code) = match fault {
        Fault::Throttle => (400, "ThrottlingException"),
        Fault::Throughput => (400, "ProvisionedThroughputExceededException"),
        Fault::Cancelled(_) => (400, "TransactionCanceledException"),
        Fault::Conflict => (400, "TransactionConflictException"),
        Fault::Precondition => (400, "ConditionalCheckFailedException"),
        Fault::Expired => (400, "ExpiredTokenException"),
        Fault::Internal
        | Fault::DropRequest
        | Fault::DropAnswer
        | Fault::Delay(_)
        | Fault::Says(_) => (500, "InternalServerError"),
    };
    let mut body = json!({
        "__type": format!("com.amazonaws.dynamodb.v20120810#{code}"),
        "message": format!("{code} by the fault proxy"),
    });
    if let Fault::Cancelled(reasons) = fault {
        let reason = |code: &&str| match *code {
            "None" => json!({ "Code": "None" }),
            code => json!({ "Code": code, "Message": format!("{code} by the fault proxy") }),
        };
        body["CancellationReasons"] = reasons.iter().map(reason).collect();
        body["Message"] = format!(
            "Transaction cancelled, please refer cancellation reasons for specific reasons [{}]",
            reasons.join(", ")
        )
        .into();
    }
    message(status, "application/x-amz-json-1.0", &body.to_string())
}

fn s3(request: &Message, fault: &Fault) -> Vec<u8> {
    let (status, code) = match fault {
        Fault::Throttle | Fault::Throughput => (503, "SlowDown"),
        Fault::Conflict | Fault::Cancelled(_) => (409, "ConditionalRequestConflict"),
        Fault::Precondition => (412, "PreconditionFailed"),
        Fault::Expired => (400, "ExpiredToken"),
        Fault::Internal
        | Fault::DropRequest
        | Fault::DropAnswer
        | Fault::Delay(_)
        | Fault::Says(_) => (500, "InternalError"),
    };
    let body = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error><Code>{code}</Code><Message>{code} by the fault proxy</Message></Error>"
    );
    // The answer to HEAD has no body.
    let body = if request.start.starts_with("HEAD ") {
        ""
    } else {
        &body
    };
    message(status, "application/xml", body)
}

fn message(status: u16, kind: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!("HTTP/1.1 {status} Refused\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\n\r\n{body}")
        .into_bytes()
}
