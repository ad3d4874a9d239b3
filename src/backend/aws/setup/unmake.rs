//! All of a deployment gone, what looks after data last. What was interrupted goes on where it was.

use aws_sdk_ec2::types::Filter;

use super::account::Account;
use super::deed::{Deeds, Outcome};
use super::deployment::DEPLOYMENT_TAG;
use super::program::PREFIX;
use crate::backend::aws::blobs::sweep::sweep;
use crate::backend::aws::calls::{Purpose, for_purpose};
use crate::backend::aws::fault::Fault;
use crate::backend::aws::secrets::{MARKS, ManagedSecrets};

/// States of machines that are not gone.
const THERE: [&str; 5] = ["pending", "running", "shutting-down", "stopping", "stopped"];
/// What EC2 answers about a group while the last machine in it is going.
const BUSY: &[&str] = &["DependencyViolation"];
/// What S3 answers about a bucket while the last object in it is going.
const NOT_EMPTY_YET: &[&str] = &["BucketNotEmpty", "OperationAborted"];

/// What is in a deployment that somebody may want.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Holdings {
    /// Machines that are not gone.
    pub machines: Vec<String>,
    /// There are records.
    pub records: bool,
    /// There is content.
    pub content: bool,
    /// Values that nobody may see.
    pub secrets: usize,
}

impl Holdings {
    /// Whether there is data.
    pub fn is_data(&self) -> bool {
        self.records || self.content || self.secrets > 0
    }
}

/// What goes, in this order.
#[derive(Clone, Copy)]
enum Ruin {
    Template,
    Group,
    Secrets,
    Protection,
    Table,
    Objects,
    Bucket,
}

impl Ruin {
    const ALL: [Ruin; 7] = [
        Ruin::Template,
        Ruin::Group,
        Ruin::Secrets,
        Ruin::Protection,
        Ruin::Table,
        Ruin::Objects,
        Ruin::Bucket,
    ];
}

impl Account {
    /// What would be lost.
    ///
    /// # Errors
    /// AWS did not say.
    pub async fn holdings(&self) -> Result<Holdings, Fault> {
        for_purpose(Purpose::Care, async {
            Ok(Holdings {
                machines: self.machines().await?,
                records: self.has_records().await?,
                content: self.has_content().await?,
                secrets: self.secrets().of_deployment().await?.len(),
            })
        })
        .await
    }

    /// Removes everything that `make` and `upload` made, and all that is in it.
    pub async fn unmake(&self, deeds: &mut Deeds<'_>) {
        for_purpose(Purpose::Care, async {
            for step in Ruin::ALL {
                match step {
                    Ruin::Template => self.unmake_template(deeds).await,
                    Ruin::Group => self.unmake_group(deeds).await,
                    Ruin::Secrets => self.unmake_secrets(deeds).await,
                    Ruin::Protection => self.unprotect(deeds).await,
                    Ruin::Table => self.unmake_table(deeds).await,
                    Ruin::Objects => self.empty_bucket(deeds).await,
                    Ruin::Bucket => self.unmake_bucket(deeds).await,
                }
                if deeds.are_over() {
                    return;
                }
            }
        })
        .await;
    }

    fn secrets(&self) -> ManagedSecrets {
        let bucket = self.deployment.bucket();
        ManagedSecrets::new(&self.clients, &self.deployment.name, &bucket)
    }

    async fn machines(&self) -> Result<Vec<String>, Fault> {
        let tag = Filter::builder()
            .name(format!("tag:{DEPLOYMENT_TAG}"))
            .values(&self.deployment.name)
            .build();
        let there = Filter::builder()
            .name("instance-state-name")
            .set_values(Some(THERE.map(str::to_owned).to_vec()))
            .build();
        let mut pages = { self.ec2.describe_instances().filters(tag).filters(there) }
            .into_paginator()
            .send();
        let mut found = Vec::new();
        while let Some(page) = pages.next().await {
            let page = page.map_err(|error| Fault::of(&error))?;
            let instances = page.reservations().iter().flat_map(|one| one.instances());
            found.extend(instances.filter_map(|one| one.instance_id().map(str::to_owned)));
        }
        Ok(found)
    }

    async fn has_records(&self) -> Result<bool, Fault> {
        let name = self.deployment.table();
        let answer = self.db.scan().table_name(name).limit(1).send().await;
        match answer.map_err(|error| Fault::of(&error)) {
            Ok(answer) => Ok(answer.count() > 0),
            Err(fault) if fault.is("ResourceNotFoundException") => Ok(false),
            Err(fault) => Err(fault),
        }
    }

    /// Programs are no data, and names of secrets are counted as secrets.
    async fn has_content(&self) -> Result<bool, Fault> {
        let (mut key, mut version) = (None, None);
        loop {
            let answer = self
                .s3
                .list_object_versions()
                .bucket(self.deployment.bucket())
                .set_key_marker(key)
                .set_version_id_marker(version)
                .send()
                .await;
            let page = match answer.map_err(|error| Fault::of(&error)) {
                Ok(page) => page,
                Err(fault) if fault.is("NoSuchBucket") => return Ok(false),
                Err(fault) => return Err(fault),
            };
            let mut keys = page.versions().iter().filter_map(|one| one.key());
            if keys.any(|key| !key.starts_with(PREFIX) && !key.starts_with(MARKS)) {
                return Ok(true);
            }
            if page.is_truncated() != Some(true) {
                return Ok(false);
            }
            (key, version) = (page.next_key_marker, page.next_version_id_marker);
        }
    }

    async fn unmake_template(&self, deeds: &mut Deeds<'_>) {
        let name = self.deployment.worker();
        let what = format!("delete the launch template {name}");
        let there = self.template().await;
        let delete = async || {
            let answer = self
                .ec2
                .delete_launch_template()
                .launch_template_name(&name)
                .send()
                .await;
            answer.map(drop).map_err(|error| Fault::of(&error))
        };
        self.delete(what, there.map(|one| one.is_some()), &[], delete, deeds)
            .await;
    }

    async fn unmake_group(&self, deeds: &mut Deeds<'_>) {
        let what = format!("delete the security group {}", self.deployment.worker());
        let group = self.group().await;
        let id = group.map(|group| group.and_then(|group| group.group_id));
        let there = id.as_ref().map(Option::is_some).map_err(Clone::clone);
        let id = id.ok().flatten();
        let delete = async || {
            let answer = self
                .ec2
                .delete_security_group()
                .set_group_id(id.clone())
                .send()
                .await;
            answer.map(drop).map_err(|error| Fault::of(&error))
        };
        self.delete(what, there, BUSY, delete, deeds).await;
    }

    async fn unmake_secrets(&self, deeds: &mut Deeds<'_>) {
        let secrets = self.secrets();
        let what = format!("erase the values under {}", self.deployment.secrets());
        let names = secrets.of_deployment().await;
        let there = names.as_ref().map(|names| !names.is_empty());
        let there = there.map_err(Clone::clone);
        let names = names.unwrap_or_default();
        let erase = async || {
            for name in &names {
                secrets.delete(name).await?;
            }
            Ok(())
        };
        self.delete(what, there, &[], erase, deeds).await;
    }

    async fn unprotect(&self, deeds: &mut Deeds<'_>) {
        let table = self.describe_table().await;
        let protected = table.map(|table| {
            table.is_some_and(|table| table.deletion_protection_enabled() == Some(true))
        });
        let name = self.deployment.table();
        let what = format!("switch off the deletion protection of the table {name}");
        let off = async || {
            self.protect_table(false).await?;
            self.table_at_rest().await
        };
        let busy = &["ResourceInUseException"];
        self.delete(what, protected, busy, off, deeds).await;
    }

    async fn unmake_table(&self, deeds: &mut Deeds<'_>) {
        let name = self.deployment.table();
        let what = format!("delete the table {name}");
        let there = self.describe_table().await.map(|table| table.is_some());
        let delete = async || {
            let answer = self.db.delete_table().table_name(name).send().await;
            match answer.map_err(|error| Fault::of(&error)) {
                Ok(_) => {}
                Err(fault) if fault.is("ResourceNotFoundException") => return Ok(()),
                Err(fault) => return Err(fault),
            }
            let mut pauses = self.pauses();
            while self.describe_table().await?.is_some() {
                if !pauses.pause().await {
                    let words = "the table is still being deleted";
                    return Err(Fault::Uncertain(words.to_owned()));
                }
            }
            Ok(())
        };
        let busy = &["ResourceInUseException"];
        self.delete(what, there, busy, delete, deeds).await;
    }

    async fn empty_bucket(&self, deeds: &mut Deeds<'_>) {
        let bucket = self.deployment.bucket();
        let there = self.bucket_region().await.map(|region| region.is_some());
        let what = format!("empty the bucket {bucket}, with all versions");
        let empty = async || {
            sweep(&self.s3, &bucket, "").await?;
            self.abort_uploads(&bucket).await
        };
        self.delete(what, there, &[], empty, deeds).await;
    }

    /// What was never completed is no object, and costs as much.
    async fn abort_uploads(&self, bucket: &str) -> Result<(), Fault> {
        loop {
            let list = self.s3.list_multipart_uploads().bucket(bucket);
            let page = list.send().await.map_err(|error| Fault::of(&error))?;
            if page.uploads().is_empty() {
                return Ok(());
            }
            for upload in page.uploads() {
                let answer = self
                    .s3
                    .abort_multipart_upload()
                    .bucket(bucket)
                    .set_key(upload.key.clone())
                    .set_upload_id(upload.upload_id.clone())
                    .send()
                    .await;
                match answer.map_err(|error| Fault::of(&error)) {
                    Err(fault) if !fault.is("NoSuchUpload") => return Err(fault),
                    _ => {}
                }
            }
        }
    }

    async fn unmake_bucket(&self, deeds: &mut Deeds<'_>) {
        let bucket = self.deployment.bucket();
        let there = self.bucket_region().await.map(|region| region.is_some());
        let what = format!("delete the bucket {bucket}");
        let delete = async || {
            let answer = self.s3.delete_bucket().bucket(&bucket).send().await;
            answer.map(drop).map_err(|error| Fault::of(&error))
        };
        self.delete(what, there, NOT_EMPTY_YET, delete, deeds).await;
    }

    /// Does away with something, if it is there.
    async fn delete(
        &self,
        what: String,
        there: Result<bool, Fault>,
        not_yet: &[&str],
        delete: impl AsyncFn() -> Result<(), Fault>,
        deeds: &mut Deeds<'_>,
    ) {
        match there {
            Ok(false) => {}
            Ok(true) => {
                deeds.begin(&what);
                let deleted = self.patiently(not_yet, delete).await;
                deeds.end(what, Outcome::of(deleted));
            }
            Err(fault) => drop(deeds.end(what, Outcome::of(Err(fault)))),
        }
    }
}
