//! The caller as AWS knows it. All sessions of a role are one owner.

use async_trait::async_trait;

use super::calls::{Purpose, for_purpose};
use super::client::AwsClients;
use super::fault::Fault;
use crate::engine::ports::{Identity, IdentityError, Principal};

/// Whoever STS says that the credentials belong to.
pub struct StsIdentity {
    sts: aws_sdk_sts::Client,
    profile: Option<String>,
}

impl StsIdentity {
    /// The caller of these clients. `profile` is the AWS profile that the way out names.
    pub fn new(clients: &AwsClients, profile: Option<&str>) -> StsIdentity {
        StsIdentity {
            sts: clients.sts(),
            profile: profile.map(str::to_owned),
        }
    }
}

#[async_trait]
impl Identity for StsIdentity {
    async fn caller(&self) -> Result<Principal, IdentityError> {
        let asked = for_purpose(Purpose::Identity, self.sts.get_caller_identity().send()).await;
        match asked {
            Ok(caller) => {
                let arn = caller.arn().unwrap_or_default();
                principal(arn).ok_or_else(|| {
                    IdentityError::Unavailable(format!(
                        "AWS names the caller {arn:?}, which is no name"
                    ))
                })
            }
            Err(error) => Err(match Fault::of(&error) {
                fault @ (Fault::Credentials(_) | Fault::Denied(_)) => {
                    let profile = self
                        .profile
                        .as_deref()
                        .map(|name| format!(" --profile {name}"));
                    IdentityError::Expired(format!(
                        "{fault}; log in again: aws sso login{}",
                        profile.unwrap_or_default()
                    ))
                }
                fault => IdentityError::Unavailable(fault.to_string()),
            }),
        }
    }
}

/// Who a caller is, by its ARN: `aws:<account>:user/<name>` or `aws:<account>:role/<name>`, whatever the session of the role is called.
fn principal(arn: &str) -> Option<Principal> {
    let mut parts = arn.splitn(6, ':');
    let (_arn, partition, _service, _region) =
        (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    let (account, resource) = (parts.next()?, parts.next()?);
    if account.is_empty() || resource.is_empty() {
        return None;
    }
    let who = match resource.split_once('/') {
        Some(("assumed-role", rest)) => format!("role/{}", rest.rsplit_once('/')?.0),
        _ => resource.to_owned(),
    };
    Some(Principal {
        name: format!("{partition}:{account}:{who}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_of_one_role_are_one_owner_and_nobody_else_is() {
        let name = |arn: &str| principal(arn).map(|principal| principal.name);
        let role = Some("aws:111122223333:role/Ops".to_owned());
        for session in ["ann", "i-0123", "a/b"] {
            let arn = format!("arn:aws:sts::111122223333:assumed-role/Ops/{session}");
            let expected = match session {
                "a/b" => Some("aws:111122223333:role/Ops/a".to_owned()),
                _ => role.clone(),
            };
            assert_eq!(name(&arn), expected);
        }
        let others = [
            "arn:aws:sts::444455556666:assumed-role/Ops/ann",
            "arn:aws:sts::111122223333:assumed-role/Dev/ann",
            "arn:aws:iam::111122223333:user/Ops",
            "arn:aws-cn:sts::111122223333:assumed-role/Ops/ann",
            "arn:aws:iam::111122223333:root",
        ];
        let names: std::collections::BTreeSet<_> = others.iter().map(|arn| name(arn)).collect();
        assert_eq!(names.len(), others.len());
        assert!(!names.contains(&role) && !names.contains(&None));
    }

    #[test]
    fn what_is_no_arn_is_nobody() {
        for arn in [
            "",
            "root",
            "arn:aws:iam::",
            "arn:aws:iam:::user/a",
            "arn:aws:sts::1:assumed-role/Ops",
        ] {
            assert_eq!(principal(arn), None, "{arn}");
        }
    }
}
