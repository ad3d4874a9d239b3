//! What is changed in an account: each resource is made with all that can be said at once, and each property can be set by itself, so
//! that what was interrupted goes on where it was.

mod bucket;
mod network;
mod table;

use crate::backend::aws::fault::Fault;

/// A property that nothing sets: it is decided when its resource is made.
fn not_set(property: &str) -> Fault {
    Fault::Refused {
        code: "InvalidRequest".to_owned(),
        message: format!("{property} can't be set"),
    }
}

/// What a client's types do not take.
fn unsound(error: aws_smithy_types::error::operation::BuildError) -> Fault {
    Fault::Refused {
        code: "InvalidRequest".to_owned(),
        message: error.to_string(),
    }
}
