//! Making the bucket and setting what it is like.

use aws_sdk_s3::types::{
    BucketLifecycleConfiguration, BucketLocationConstraint, BucketVersioningStatus,
    CreateBucketConfiguration, ObjectOwnership, OwnershipControls, OwnershipControlsRule,
    PublicAccessBlockConfiguration, ServerSideEncryption, ServerSideEncryptionByDefault,
    ServerSideEncryptionConfiguration, ServerSideEncryptionRule, Tag, Tagging,
    VersioningConfiguration,
};

use super::{not_set, unsound};
use crate::backend::aws::fault::Fault;
use crate::backend::aws::setup::account::Account;
use crate::backend::aws::setup::deployment::DEPLOYMENT_TAG;
use crate::backend::aws::setup::rules;

/// What S3 answers while the bucket is still busy with something else.
const BUSY: &[&str] = &["OperationAborted", "NoSuchBucket"];
/// The one region that is not named where a bucket is made.
const FIRST_REGION: &str = "us-east-1";

impl Account {
    pub(in crate::backend::aws::setup) async fn create_bucket(&self) -> Result<(), Fault> {
        let region = self.deployment.region.as_str();
        let here = CreateBucketConfiguration::builder()
            .location_constraint(BucketLocationConstraint::from(region))
            .build();
        let here = (region != FIRST_REGION).then_some(here);
        let answer = self
            .s3
            .create_bucket()
            .bucket(self.deployment.bucket())
            .set_create_bucket_configuration(here)
            .object_ownership(ObjectOwnership::BucketOwnerEnforced)
            .send()
            .await;
        match answer.map_err(|error| Fault::of(&error)) {
            Ok(_) => Ok(()),
            // An earlier attempt was answered after all.
            Err(fault) if fault.is("BucketAlreadyOwnedByYou") => Ok(()),
            Err(fault) => Err(fault),
        }
    }

    pub(in crate::backend::aws::setup) async fn set_of_bucket(
        &self,
        property: &str,
    ) -> Result<(), Fault> {
        let set = async || match property {
            "public access" => self.block_public_access().await,
            "owner of objects" => self.own_objects().await,
            "versioning" => self.keep_versions().await,
            "encryption" => self.encrypt_bucket().await,
            "lifecycle" => self.put_lifecycle().await,
            "requests without TLS" => self.deny_plain().await,
            "tag" => self.tag_bucket().await,
            other => Err(not_set(other)),
        };
        self.patiently(BUSY, set).await
    }

    async fn block_public_access(&self) -> Result<(), Fault> {
        let block = PublicAccessBlockConfiguration::builder()
            .block_public_acls(true)
            .block_public_policy(true)
            .ignore_public_acls(true)
            .restrict_public_buckets(true);
        let answer = self
            .s3
            .put_public_access_block()
            .bucket(self.deployment.bucket())
            .public_access_block_configuration(block.build())
            .send()
            .await;
        answer.map(drop).map_err(|error| Fault::of(&error))
    }

    async fn own_objects(&self) -> Result<(), Fault> {
        let rule = OwnershipControlsRule::builder()
            .object_ownership(ObjectOwnership::BucketOwnerEnforced)
            .build()
            .map_err(unsound)?;
        let controls = OwnershipControls::builder().rules(rule);
        let answer = self
            .s3
            .put_bucket_ownership_controls()
            .bucket(self.deployment.bucket())
            .ownership_controls(controls.build().map_err(unsound)?)
            .send()
            .await;
        answer.map(drop).map_err(|error| Fault::of(&error))
    }

    async fn keep_versions(&self) -> Result<(), Fault> {
        let on = VersioningConfiguration::builder().status(BucketVersioningStatus::Enabled);
        let answer = self
            .s3
            .put_bucket_versioning()
            .bucket(self.deployment.bucket())
            .versioning_configuration(on.build())
            .send()
            .await;
        answer.map(drop).map_err(|error| Fault::of(&error))
    }

    async fn encrypt_bucket(&self) -> Result<(), Fault> {
        let key = self.deployment.kms_key.as_deref();
        let algorithm = match key {
            Some(_) => ServerSideEncryption::AwsKms,
            None => ServerSideEncryption::Aes256,
        };
        let default = ServerSideEncryptionByDefault::builder()
            .sse_algorithm(algorithm)
            .set_kms_master_key_id(key.map(str::to_owned))
            .build()
            .map_err(unsound)?;
        let rule = ServerSideEncryptionRule::builder()
            .apply_server_side_encryption_by_default(default)
            .set_bucket_key_enabled(key.map(|_| true));
        let config = ServerSideEncryptionConfiguration::builder().rules(rule.build());
        let answer = self
            .s3
            .put_bucket_encryption()
            .bucket(self.deployment.bucket())
            .server_side_encryption_configuration(config.build().map_err(unsound)?)
            .send()
            .await;
        answer.map(drop).map_err(|error| Fault::of(&error))
    }

    async fn put_lifecycle(&self) -> Result<(), Fault> {
        let rules = rules::with_ours(self.lifecycle().await?)?;
        let config = BucketLifecycleConfiguration::builder().set_rules(Some(rules));
        let answer = self
            .s3
            .put_bucket_lifecycle_configuration()
            .bucket(self.deployment.bucket())
            .lifecycle_configuration(config.build().map_err(unsound)?)
            .send()
            .await;
        answer.map(drop).map_err(|error| Fault::of(&error))
    }

    async fn deny_plain(&self) -> Result<(), Fault> {
        let policy = rules::with_denial(&self.deployment, &self.bucket_policy().await?)?;
        let answer = self
            .s3
            .put_bucket_policy()
            .bucket(self.deployment.bucket())
            .policy(policy)
            .send()
            .await;
        answer.map(drop).map_err(|error| Fault::of(&error))
    }

    async fn tag_bucket(&self) -> Result<(), Fault> {
        let mut tags = self.bucket_tags().await?;
        tags.retain(|(key, _)| key != DEPLOYMENT_TAG);
        tags.push((DEPLOYMENT_TAG.to_owned(), self.deployment.name.clone()));
        let tags: Result<Vec<Tag>, Fault> = tags
            .into_iter()
            .map(|(key, value)| {
                Tag::builder()
                    .key(key)
                    .value(value)
                    .build()
                    .map_err(unsound)
            })
            .collect();
        let tagging = Tagging::builder().set_tag_set(Some(tags?));
        let answer = self
            .s3
            .put_bucket_tagging()
            .bucket(self.deployment.bucket())
            .tagging(tagging.build().map_err(unsound)?)
            .send()
            .await;
        answer.map(drop).map_err(|error| Fault::of(&error))
    }
}
