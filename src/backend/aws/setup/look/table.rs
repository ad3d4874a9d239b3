//! The table as it is.

use aws_sdk_dynamodb::types::{
    BillingMode, KeyType, PointInTimeRecoveryStatus, ScalarAttributeType, SseStatus,
    TableDescription, TableStatus, TimeToLiveStatus,
};

use super::tag_of;
use crate::backend::aws::fault::Fault;
use crate::backend::aws::setup::account::{Account, on, see};
use crate::backend::aws::setup::desired::{key_words, table_key_words};
use crate::backend::aws::setup::plan::Properties;

impl Account {
    /// What AWS says of the table; nothing, if there is none.
    pub(in crate::backend::aws::setup) async fn describe_table(
        &self,
    ) -> Result<Option<TableDescription>, Fault> {
        let name = self.deployment.table();
        let answer = self.db.describe_table().table_name(name).send().await;
        match answer.map_err(|error| Fault::of(&error)) {
            Ok(answer) => Ok(answer.table),
            Err(fault) if fault.is("ResourceNotFoundException") => Ok(None),
            Err(fault) => Err(fault),
        }
    }

    pub(in crate::backend::aws::setup) async fn look_at_table(
        &self,
    ) -> Result<Option<Properties>, Fault> {
        let Some(table) = self.describe_table().await? else {
            return Ok(None);
        };
        if table.table_status() == Some(&TableStatus::Deleting) {
            return Err(Fault::Refused {
                code: "DELETING".to_owned(),
                message: "the table is being deleted; wait until it is gone".to_owned(),
            });
        }
        let mut found = Properties::new();
        found.insert("key", key(&table).into());
        found.insert("billing", billing(&table).into());
        found.insert("encryption", encryption(&table).into());
        see(&mut found, "point-in-time recovery", self.recovery().await)?;
        see(&mut found, "time to live", self.time_to_live().await)?;
        let protected = table.deletion_protection_enabled() == Some(true);
        found.insert("deletion protection", on(protected).into());
        let arn = table.table_arn().unwrap_or_default();
        see(&mut found, "tag", self.tags_of_table(arn).await)?;
        Ok(Some(found))
    }

    async fn recovery(&self) -> Result<String, Fault> {
        let name = self.deployment.table();
        let answer = self
            .db
            .describe_continuous_backups()
            .table_name(name)
            .send()
            .await;
        let answer = answer.map_err(|error| Fault::of(&error))?;
        let status = answer
            .continuous_backups_description()
            .and_then(|backups| backups.point_in_time_recovery_description())
            .and_then(|recovery| recovery.point_in_time_recovery_status());
        Ok(on(status == Some(&PointInTimeRecoveryStatus::Enabled)))
    }

    async fn time_to_live(&self) -> Result<String, Fault> {
        let name = self.deployment.table();
        let answer = self
            .db
            .describe_time_to_live()
            .table_name(name)
            .send()
            .await;
        let answer = answer.map_err(|error| Fault::of(&error))?;
        let description = answer.time_to_live_description();
        let attribute = description.and_then(|ttl| match ttl.time_to_live_status() {
            Some(TimeToLiveStatus::Enabled | TimeToLiveStatus::Enabling) => ttl.attribute_name(),
            _ => None,
        });
        Ok(attribute.unwrap_or("off").to_owned())
    }

    async fn tags_of_table(&self, arn: &str) -> Result<String, Fault> {
        let (mut tags, mut next) = (Vec::new(), None);
        loop {
            let answer = self
                .db
                .list_tags_of_resource()
                .resource_arn(arn)
                .set_next_token(next)
                .send()
                .await;
            let page = answer.map_err(|error| Fault::of(&error))?;
            tags.extend(page.tags.unwrap_or_default());
            next = page.next_token;
            if next.is_none() {
                return Ok(tag_of(tags.iter().map(|tag| (tag.key(), tag.value()))));
            }
        }
    }
}

fn key(table: &TableDescription) -> String {
    let of = |kind: KeyType| {
        let mut schema = table.key_schema().iter();
        let name = schema.find(|one| *one.key_type() == kind)?.attribute_name();
        let mut attributes = table.attribute_definitions().iter();
        let attribute = attributes.find(|one| one.attribute_name() == name)?;
        match attribute.attribute_type() {
            ScalarAttributeType::S => Some(name.to_owned()),
            other => Some(format!("{name} of type {}", other.as_str())),
        }
    };
    match (of(KeyType::Hash), of(KeyType::Range)) {
        (Some(partition), Some(sort)) => key_words(&partition, &sort),
        (partition, _) => format!("{} and no sort key", partition.unwrap_or_default()),
    }
}

fn billing(table: &TableDescription) -> String {
    let mode = table.billing_mode_summary().and_then(|b| b.billing_mode());
    match mode {
        Some(BillingMode::PayPerRequest) => "on demand".to_owned(),
        _ => "provisioned".to_owned(),
    }
}

fn encryption(table: &TableDescription) -> String {
    let key = table.sse_description().and_then(|sse| match sse.status() {
        Some(SseStatus::Enabled | SseStatus::Enabling | SseStatus::Updating) => {
            sse.kms_master_key_arn()
        }
        _ => None,
    });
    table_key_words(key)
}
