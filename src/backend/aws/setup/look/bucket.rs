//! The bucket as it is.

use aws_sdk_s3::types::{BucketVersioningStatus, ObjectOwnership, ServerSideEncryption};

use super::tag_of;
use crate::backend::aws::fault::Fault;
use crate::backend::aws::setup::account::{Account, on, see};
use crate::backend::aws::setup::desired::{S3_KEY, bucket_key_words};
use crate::backend::aws::setup::plan::Properties;
use crate::backend::aws::setup::rules::{self, Rule};

/// Where a bucket is that S3 says nothing of.
const FIRST_REGION: &str = "us-east-1";

impl Account {
    pub(in crate::backend::aws::setup) async fn look_at_bucket(
        &self,
    ) -> Result<Option<Properties>, Fault> {
        let Some(region) = self.bucket_region().await? else {
            return Ok(None);
        };
        let mut found = Properties::new();
        found.insert("region", region.into());
        see(&mut found, "public access", self.public_access().await)?;
        see(&mut found, "owner of objects", self.ownership().await)?;
        see(&mut found, "versioning", self.versioning().await)?;
        see(&mut found, "encryption", self.bucket_encryption().await)?;
        let rules = self.lifecycle().await;
        see(&mut found, "lifecycle", rules.map(|all| rules::words(&all)))?;
        let policy = self.bucket_policy().await;
        let denied = policy.map(
            |policy| match rules::denies_plain(&self.deployment, &policy) {
                true => "denied".to_owned(),
                false => "taken".to_owned(),
            },
        );
        see(&mut found, "requests without TLS", denied)?;
        let tags = self.bucket_tags().await;
        let tag = tags.map(|tags| tag_of(tags.iter().map(|(k, v)| (k.as_str(), v.as_str()))));
        see(&mut found, "tag", tag)?;
        Ok(Some(found))
    }

    /// Where the bucket is; nothing, if there is none. One of another account is refused, whatever it lets us do.
    pub(in crate::backend::aws::setup) async fn bucket_region(
        &self,
    ) -> Result<Option<String>, Fault> {
        let answer = self
            .s3
            .head_bucket()
            .bucket(self.deployment.bucket())
            .expected_bucket_owner(&self.deployment.account)
            .send()
            .await;
        match answer.map_err(|error| Fault::of(&error)) {
            Ok(answer) => {
                let region = answer.bucket_region().unwrap_or(FIRST_REGION);
                Ok(Some(region.to_owned()))
            }
            Err(fault) if fault.is("NotFound") || fault.is("404") || fault.is("NoSuchBucket") => {
                Ok(None)
            }
            Err(fault) => Err(fault),
        }
    }

    async fn public_access(&self) -> Result<String, Fault> {
        let answer = self
            .s3
            .get_public_access_block()
            .bucket(self.deployment.bucket())
            .send()
            .await;
        let answer = answer.map_err(|error| Fault::of(&error));
        let block = absent_as_none(answer, "NoSuchPublicAccessBlockConfiguration")?;
        let blocked = block
            .and_then(|block| block.public_access_block_configuration)
            .is_some_and(|block| {
                let all = [
                    block.block_public_acls(),
                    block.block_public_policy(),
                    block.ignore_public_acls(),
                    block.restrict_public_buckets(),
                ];
                all.iter().all(|one| *one == Some(true))
            });
        let word = if blocked { "blocked" } else { "possible" };
        Ok(word.to_owned())
    }

    async fn ownership(&self) -> Result<String, Fault> {
        let answer = self
            .s3
            .get_bucket_ownership_controls()
            .bucket(self.deployment.bucket())
            .send()
            .await;
        let answer = answer.map_err(|error| Fault::of(&error));
        let controls = absent_as_none(answer, "OwnershipControlsNotFoundError")?;
        let rules = controls.and_then(|answer| answer.ownership_controls);
        let enforced = rules.is_some_and(|controls| {
            let owner = controls.rules().first().map(|rule| rule.object_ownership());
            owner == Some(&ObjectOwnership::BucketOwnerEnforced)
        });
        let word = if enforced { "bucket" } else { "writer" };
        Ok(word.to_owned())
    }

    async fn versioning(&self) -> Result<String, Fault> {
        let answer = self
            .s3
            .get_bucket_versioning()
            .bucket(self.deployment.bucket())
            .send()
            .await;
        let answer = answer.map_err(|error| Fault::of(&error))?;
        Ok(on(answer.status() == Some(&BucketVersioningStatus::Enabled)))
    }

    async fn bucket_encryption(&self) -> Result<String, Fault> {
        let answer = self
            .s3
            .get_bucket_encryption()
            .bucket(self.deployment.bucket())
            .send()
            .await;
        let answer = answer.map_err(|error| Fault::of(&error));
        let none = "ServerSideEncryptionConfigurationNotFoundError";
        let config = absent_as_none(answer, none)?
            .and_then(|answer| answer.server_side_encryption_configuration);
        let rule = config.as_ref().and_then(|config| config.rules().first());
        let Some(default) = rule.and_then(|rule| rule.apply_server_side_encryption_by_default())
        else {
            return Ok("none".to_owned());
        };
        Ok(match default.sse_algorithm() {
            ServerSideEncryption::Aes256 => S3_KEY.to_owned(),
            ServerSideEncryption::AwsKms => {
                let key = default.kms_master_key_id().unwrap_or("AWS' own key");
                let bucket_key = rule.and_then(|rule| rule.bucket_key_enabled());
                bucket_key_words(key, bucket_key == Some(true))
            }
            other => other.as_str().to_owned(),
        })
    }

    /// The bucket's lifecycle rules.
    pub(in crate::backend::aws::setup) async fn lifecycle(&self) -> Result<Vec<Rule>, Fault> {
        let answer = self
            .s3
            .get_bucket_lifecycle_configuration()
            .bucket(self.deployment.bucket())
            .send()
            .await;
        let answer = answer.map_err(|error| Fault::of(&error));
        let rules = absent_as_none(answer, "NoSuchLifecycleConfiguration")?;
        Ok(rules.and_then(|answer| answer.rules).unwrap_or_default())
    }

    /// The bucket's policy as JSON; empty, if there is none.
    pub(in crate::backend::aws::setup) async fn bucket_policy(&self) -> Result<String, Fault> {
        let answer = self
            .s3
            .get_bucket_policy()
            .bucket(self.deployment.bucket())
            .send()
            .await;
        let answer = answer.map_err(|error| Fault::of(&error));
        let policy = absent_as_none(answer, "NoSuchBucketPolicy")?;
        Ok(policy.and_then(|answer| answer.policy).unwrap_or_default())
    }

    /// The bucket's tags.
    pub(in crate::backend::aws::setup) async fn bucket_tags(
        &self,
    ) -> Result<Vec<(String, String)>, Fault> {
        let answer = self
            .s3
            .get_bucket_tagging()
            .bucket(self.deployment.bucket())
            .send()
            .await;
        let answer = answer.map_err(|error| Fault::of(&error));
        let tags = absent_as_none(answer, "NoSuchTagSet")?.map(|answer| answer.tag_set);
        let tags = tags.unwrap_or_default().into_iter();
        Ok(tags.map(|tag| (tag.key, tag.value)).collect())
    }
}

/// S3 answers what was never set with an error of its own.
fn absent_as_none<T>(answer: Result<T, Fault>, code: &str) -> Result<Option<T>, Fault> {
    match answer {
        Ok(answer) => Ok(Some(answer)),
        Err(fault) if fault.is(code) => Ok(None),
        Err(fault) => Err(fault),
    }
}
