//! What a caller of the engine is told when it did not get what it asked for.

use super::ports::{BlobError, Key, SecretError, StoreError, StoreFault};

/// Refusals and failures, by who must act and whether it happened.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum EngineError {
    /// There is no such thing, or it belongs to somebody else (I3). Nothing changed.
    #[error("no {what} {id:?}")]
    NotFound {
        /// `session`, `turn`, …
        what: &'static str,
        /// As asked for.
        id: String,
    },
    /// The request is wrong. Nothing changed.
    #[error("{message}")]
    Invalid {
        /// The field.
        param: Option<String>,
        /// What is wrong and what would be right.
        message: String,
    },
    /// The state does not allow it. Nothing changed; repeating it as is won't help.
    #[error("{0}")]
    Conflict(String),
    /// The key was used with another body. Nothing changed.
    #[error("this idempotency key was used with another body (digest {stored}, now {given})")]
    KeyReused {
        /// Digest under the key.
        stored: String,
        /// Digest of this request.
        given: String,
    },
    /// Somebody keeps changing the Session. Nothing changed; try again.
    #[error("the session is too busy: {attempts} attempts met other changes")]
    Busy {
        /// Attempts made.
        attempts: u32,
    },
    /// Passing trouble. Nothing changed; try again.
    #[error("{0}")]
    Unavailable(String),
    /// It may have happened. Ask again under the same key to find out.
    #[error("it is unknown whether this happened: {0}")]
    Unknown(String),
    /// An operator must act first. Nothing changed.
    #[error("{message}")]
    Broken {
        /// What is wrong.
        fault: StoreFault,
        /// In words, with the way out.
        message: String,
    },
    /// A stored record does not read as it must: damaged, or our fault.
    #[error("record {key} can't be read: {why}")]
    Damaged {
        /// Which record.
        key: String,
        /// What failed.
        why: String,
    },
}

impl EngineError {
    /// A refusal that names a field.
    pub fn invalid(param: &str, message: impl Into<String>) -> EngineError {
        EngineError::Invalid {
            param: Some(param.to_owned()),
            message: message.into(),
        }
    }

    /// No such thing.
    pub fn not_found(what: &'static str, id: impl Into<String>) -> EngineError {
        EngineError::NotFound {
            what,
            id: id.into(),
        }
    }

    /// A record that can't be read.
    pub fn damaged(key: &Key, why: impl ToString) -> EngineError {
        EngineError::Damaged {
            key: key.to_string(),
            why: why.to_string(),
        }
    }
}

impl From<StoreError> for EngineError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Conflict(_) => EngineError::Busy { attempts: 1 },
            StoreError::Throttled | StoreError::Unavailable(_) => {
                EngineError::Unavailable(error.to_string())
            }
            StoreError::Unknown(why) => EngineError::Unknown(why),
            StoreError::Broken { fault, message } => EngineError::Broken { fault, message },
            StoreError::Invalid(why) => EngineError::Damaged {
                key: "commit".into(),
                why,
            },
        }
    }
}

impl From<SecretError> for EngineError {
    fn from(error: SecretError) -> Self {
        match error {
            SecretError::Broken { fault, message } => EngineError::Broken { fault, message },
            SecretError::Unavailable(_) => EngineError::Unavailable(error.to_string()),
            SecretError::Missing(_) | SecretError::Sealed(_) | SecretError::Invalid(_) => {
                EngineError::Damaged {
                    key: "secret".into(),
                    why: error.to_string(),
                }
            }
        }
    }
}

impl From<BlobError> for EngineError {
    fn from(error: BlobError) -> Self {
        match error {
            BlobError::Broken { fault, message } => EngineError::Broken { fault, message },
            BlobError::Missing(_) | BlobError::Corrupt(_) => EngineError::Damaged {
                key: "blob".into(),
                why: error.to_string(),
            },
            BlobError::Invalid(why) => EngineError::Damaged {
                key: "blob".into(),
                why,
            },
            BlobError::TooLarge { .. } | BlobError::Source(_) => EngineError::Invalid {
                param: None,
                message: error.to_string(),
            },
            BlobError::Unavailable(_) => EngineError::Unavailable(error.to_string()),
        }
    }
}
