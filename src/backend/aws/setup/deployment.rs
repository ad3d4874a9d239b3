//! What a deployment is called: every name and ARN follows from its name, the account and the region.

/// Tag of everything that belongs to a deployment; its value is the deployment's name.
pub const DEPLOYMENT_TAG: &str = "rat-things:deployment";
/// The longest name: a bucket has it, an account and a region in 63 characters.
const NAME_CHARS_MAX: usize = 32;

/// One deployment in one account and region.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deployment {
    /// Its name: lower-case letters, digits and hyphens.
    pub name: String,
    /// `aws`, `aws-cn`, `aws-us-gov`, or what a template has in its place.
    pub partition: String,
    /// Twelve digits, or what a template has in their place.
    pub account: String,
    /// `eu-west-1`, …, or what a template has in its place.
    pub region: String,
    /// ARN of the key that table, objects and disks are encrypted with; `None`: AWS' own keys.
    pub kms_key: Option<String>,
    /// The processors of its instances.
    pub architecture: Architecture,
    /// What the table is called, if not as the deployment.
    own_table: Option<String>,
    /// What the bucket is called, if not after the deployment, the account and the region.
    own_bucket: Option<String>,
}

/// The processors of instances.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Architecture {
    /// Graviton.
    Arm64,
    /// Intel and AMD.
    X86_64,
}

impl Architecture {
    /// As AWS calls it.
    pub fn name(self) -> &'static str {
        match self {
            Architecture::Arm64 => "arm64",
            Architecture::X86_64 => "x86_64",
        }
    }

    /// What workers run on unless a launch says otherwise.
    pub fn instance_type(self) -> &'static str {
        match self {
            Architecture::Arm64 => "m7g.large",
            Architecture::X86_64 => "m7i.large",
        }
    }
}

/// Why a deployment can't be called or placed like this. Nothing happened.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// The name has no place in a bucket's.
    #[error(
        "{0:?} is no name of a deployment: 1 to {NAME_CHARS_MAX} lower-case letters, digits and single hyphens, a letter first and no hyphen last"
    )]
    Name(String),
    /// No account.
    #[error("{0:?} is no AWS account: twelve digits")]
    Account(String),
    /// No region.
    #[error("{0:?} is no AWS region, such as eu-west-1")]
    Region(String),
    /// No key.
    #[error("{0:?} is no ARN of a KMS key, such as arn:aws:kms:eu-west-1:123456789012:key/…")]
    Key(String),
}

impl Deployment {
    /// A deployment by name, in an account and a region.
    ///
    /// # Errors
    /// A word is none; the error says which, and what is one.
    pub fn new(
        name: &str,
        account: &str,
        region: &str,
        kms_key: Option<&str>,
        architecture: Architecture,
    ) -> Result<Deployment, NameError> {
        check_name(name)?;
        if account.len() != 12 || !account.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(NameError::Account(account.to_owned()));
        }
        let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        if !region.contains('-') || region.len() > 18 || !region.bytes().all(plain) {
            return Err(NameError::Region(region.to_owned()));
        }
        Ok(Deployment {
            name: name.to_owned(),
            partition: partition(region).to_owned(),
            account: account.to_owned(),
            region: region.to_owned(),
            kms_key: kms_key.map(check_key).transpose()?,
            architecture,
            own_table: None,
            own_bucket: None,
        })
    }

    /// A deployment by name, wherever CloudFormation creates it.
    ///
    /// # Errors
    /// The name or the key is none.
    pub fn anywhere(
        name: &str,
        kms_key: Option<&str>,
        architecture: Architecture,
    ) -> Result<Deployment, NameError> {
        check_name(name)?;
        Ok(Deployment {
            name: name.to_owned(),
            partition: "${AWS::Partition}".to_owned(),
            account: "${AWS::AccountId}".to_owned(),
            region: "${AWS::Region}".to_owned(),
            kms_key: kms_key.map(check_key).transpose()?,
            architecture,
            own_table: None,
            own_bucket: None,
        })
    }

    /// The same with a table and a bucket that are called otherwise.
    pub fn with_places(self, table: Option<String>, bucket: Option<String>) -> Deployment {
        Deployment {
            own_table: table,
            own_bucket: bucket,
            ..self
        }
    }

    /// The table of records.
    pub fn table(&self) -> &str {
        self.own_table.as_deref().unwrap_or(&self.name)
    }

    /// The bucket of content.
    pub fn bucket(&self) -> String {
        let after = || format!("{}-{}-{}", self.name, self.account, self.region);
        self.own_bucket.clone().unwrap_or_else(after)
    }

    /// The security group and the launch template of workers, and their role and instance profile.
    pub fn worker(&self) -> String {
        format!("{}-worker", self.name)
    }

    /// The role and the instance profile of daemons.
    pub fn daemon(&self) -> String {
        format!("{}-daemon", self.name)
    }

    /// What the names of all secrets begin with.
    pub fn secrets(&self) -> String {
        format!("{}/", self.name)
    }

    /// An ARN in the deployment's account and region.
    pub(super) fn arn(&self, service: &str, resource: &str) -> String {
        format!(
            "arn:{}:{service}:{}:{}:{resource}",
            self.partition, self.region, self.account
        )
    }

    /// An ARN of something that is in no region: a role.
    pub(super) fn global_arn(&self, service: &str, resource: &str) -> String {
        format!(
            "arn:{}:{service}::{}:{resource}",
            self.partition, self.account
        )
    }

    /// The ARN of the bucket, or of what `below` names in it.
    pub(super) fn bucket_arn(&self, below: &str) -> String {
        format!("arn:{}:s3:::{}{below}", self.partition, self.bucket())
    }
}

fn check_name(name: &str) -> Result<(), NameError> {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let fits = (1..=NAME_CHARS_MAX).contains(&name.len())
        && name.bytes().all(plain)
        && name.starts_with(|first: char| first.is_ascii_lowercase())
        && !name.ends_with('-')
        && !name.contains("--");
    match fits {
        true => Ok(()),
        false => Err(NameError::Name(name.to_owned())),
    }
}

/// An alias or an id alone would be another key in another account, and no policy could name it.
fn check_key(arn: &str) -> Result<String, NameError> {
    let parts: Vec<&str> = arn.splitn(6, ':').collect();
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b":/-_".contains(&byte);
    match parts.as_slice() {
        ["arn", partition, "kms", _, _, key]
            if partition.starts_with("aws")
                && key.strip_prefix("key/").is_some_and(|id| !id.is_empty())
                && arn.bytes().all(plain) =>
        {
            Ok(arn.to_owned())
        }
        _ => Err(NameError::Key(arn.to_owned())),
    }
}

/// The part of AWS that a region is in.
fn partition(region: &str) -> &'static str {
    match region {
        cn if cn.starts_with("cn-") => "aws-cn",
        gov if gov.starts_with("us-gov-") => "aws-us-gov",
        _ => "aws",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str) -> Result<Deployment, NameError> {
        Deployment::new(name, "123456789012", "eu-west-1", None, Architecture::Arm64)
    }

    #[test]
    fn names_fit_into_a_bucket_name() {
        for good in ["a", "rat-things", "r2", &"a".repeat(NAME_CHARS_MAX)] {
            let bucket = named(good).map(|deployment| deployment.bucket());
            assert!(bucket.is_ok_and(|bucket| bucket.len() <= 63), "{good}");
        }
        let long = "a".repeat(NAME_CHARS_MAX + 1);
        for bad in ["", "-a", "a-", "a--b", "A", "a_b", "a.b", "1a", "é", &long] {
            assert_eq!(named(bad), Err(NameError::Name(bad.to_owned())));
        }
    }

    #[test]
    fn what_is_no_account_region_or_key_is_refused() {
        let made = |account, region, key| {
            Deployment::new("a", account, region, key, Architecture::Arm64).map(drop)
        };
        let key = "arn:aws:kms:eu-west-1:123456789012:key/ab-12";
        assert_eq!(made("123456789012", "eu-west-1", Some(key)), Ok(()));
        assert!(matches!(
            made("12345678901", "eu-west-1", None),
            Err(NameError::Account(_))
        ));
        assert!(matches!(
            made("123456789012", "eu_west", None),
            Err(NameError::Region(_))
        ));
        for bad in [
            "alias/mine",
            "ab-12",
            "arn:aws:kms:eu-west-1:1:alias/mine",
            "arn:aws:kms:r:1:key/a*",
        ] {
            assert!(matches!(
                made("123456789012", "eu-west-1", Some(bad)),
                Err(NameError::Key(_))
            ));
        }
    }

    #[test]
    fn arns_know_their_part_of_aws() {
        for (region, partition) in [
            ("eu-west-1", "aws"),
            ("cn-north-1", "aws-cn"),
            ("us-gov-west-1", "aws-us-gov"),
        ] {
            let deployment =
                Deployment::new("a", "123456789012", region, None, Architecture::Arm64);
            let arn = deployment.map(|deployment| deployment.arn("dynamodb", "table/a"));
            let expected = format!("arn:{partition}:dynamodb:{region}:123456789012:table/a");
            assert_eq!(arn, Ok(expected));
        }
    }
}
