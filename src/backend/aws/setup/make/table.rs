//! Making the table and setting what it is like.

use aws_sdk_dynamodb::types::{
    AttributeDefinition, BillingMode, KeySchemaElement, KeyType, PointInTimeRecoverySpecification,
    ScalarAttributeType, SseSpecification, SseType, TableStatus, Tag, TimeToLiveSpecification,
};

use super::{not_set, unsound};
use crate::backend::aws::fault::Fault;
use crate::backend::aws::setup::account::Account;
use crate::backend::aws::setup::deployment::DEPLOYMENT_TAG;
use crate::backend::aws::setup::desired::{PARTITION_KEY, SORT_KEY, TTL_ATTRIBUTE};

/// What DynamoDB answers while a table is still busy with something else.
const BUSY: &[&str] = &[
    "ResourceInUseException",
    "LimitExceededException",
    "ContinuousBackupsUnavailableException",
];

impl Account {
    pub(in crate::backend::aws::setup) async fn create_table(&self) -> Result<(), Fault> {
        let attribute = |name: &str| {
            let attribute = AttributeDefinition::builder().attribute_name(name);
            let attribute = attribute.attribute_type(ScalarAttributeType::S);
            attribute.build().map_err(unsound)
        };
        let key = |name: &str, kind| {
            let key = KeySchemaElement::builder().attribute_name(name);
            key.key_type(kind).build().map_err(unsound)
        };
        let answer = self
            .db
            .create_table()
            .table_name(self.deployment.table())
            .billing_mode(BillingMode::PayPerRequest)
            .attribute_definitions(attribute(PARTITION_KEY)?)
            .attribute_definitions(attribute(SORT_KEY)?)
            .key_schema(key(PARTITION_KEY, KeyType::Hash)?)
            .key_schema(key(SORT_KEY, KeyType::Range)?)
            .set_sse_specification(self.table_encryption())
            .deletion_protection_enabled(true)
            .tags(self.table_tag()?)
            .send()
            .await;
        match answer.map_err(|error| Fault::of(&error)) {
            Ok(_) => {}
            // An earlier attempt was answered after all.
            Err(fault) if fault.is("ResourceInUseException") => {}
            Err(fault) => return Err(fault),
        }
        self.table_at_rest().await
    }

    pub(in crate::backend::aws::setup) async fn set_of_table(
        &self,
        property: &str,
    ) -> Result<(), Fault> {
        self.table_at_rest().await?;
        self.patiently(BUSY, async || self.set_now(property).await)
            .await?;
        self.table_at_rest().await
    }

    async fn set_now(&self, property: &str) -> Result<(), Fault> {
        let name = self.deployment.table();
        match property {
            "billing" => {
                let on_demand = BillingMode::PayPerRequest;
                let update = self.db.update_table().table_name(name);
                let answer = update.billing_mode(on_demand).send().await;
                answer.map(drop).map_err(|error| Fault::of(&error))
            }
            "encryption" => {
                let own = || SseSpecification::builder().enabled(false).build();
                let encryption = self.table_encryption().unwrap_or_else(own);
                let update = self.db.update_table().table_name(name);
                let answer = update.sse_specification(encryption).send().await;
                answer.map(drop).map_err(|error| Fault::of(&error))
            }
            "deletion protection" => self.protect_table(true).await,
            "point-in-time recovery" => {
                let recovery = PointInTimeRecoverySpecification::builder()
                    .point_in_time_recovery_enabled(true)
                    .build()
                    .map_err(unsound)?;
                let answer = self
                    .db
                    .update_continuous_backups()
                    .table_name(name)
                    .point_in_time_recovery_specification(recovery)
                    .send()
                    .await;
                answer.map(drop).map_err(|error| Fault::of(&error))
            }
            "time to live" => {
                let ttl = TimeToLiveSpecification::builder()
                    .attribute_name(TTL_ATTRIBUTE)
                    .enabled(true)
                    .build()
                    .map_err(unsound)?;
                let answer = self
                    .db
                    .update_time_to_live()
                    .table_name(name)
                    .time_to_live_specification(ttl)
                    .send()
                    .await;
                answer.map(drop).map_err(|error| Fault::of(&error))
            }
            "tag" => {
                let table = self.describe_table().await?;
                let arn = table.and_then(|table| table.table_arn).unwrap_or_default();
                let answer = self
                    .db
                    .tag_resource()
                    .resource_arn(arn)
                    .tags(self.table_tag()?)
                    .send()
                    .await;
                answer.map(drop).map_err(|error| Fault::of(&error))
            }
            other => Err(not_set(other)),
        }
    }

    /// Whether the table can be deleted.
    pub(in crate::backend::aws::setup) async fn protect_table(
        &self,
        protected: bool,
    ) -> Result<(), Fault> {
        let answer = self
            .db
            .update_table()
            .table_name(self.deployment.table())
            .deletion_protection_enabled(protected)
            .send()
            .await;
        answer.map(drop).map_err(|error| Fault::of(&error))
    }

    /// Waits until the table is there and nothing is being changed.
    pub(in crate::backend::aws::setup) async fn table_at_rest(&self) -> Result<(), Fault> {
        let mut pauses = self.pauses();
        loop {
            let table = match self.describe_table().await {
                Ok(table) => table,
                Err(Fault::Throttled(_)) => None,
                Err(fault) => return Err(fault),
            };
            let status = table.as_ref().and_then(|table| table.table_status());
            if status == Some(&TableStatus::Active) {
                return Ok(());
            }
            if !pauses.pause().await {
                let is = status.map_or("not there", |status| status.as_str());
                return Err(Fault::Uncertain(format!("the table is still {is}")));
            }
        }
    }

    fn table_encryption(&self) -> Option<SseSpecification> {
        let key = self.deployment.kms_key.as_deref()?;
        let specification = SseSpecification::builder().enabled(true);
        let specification = specification.sse_type(SseType::Kms).kms_master_key_id(key);
        Some(specification.build())
    }

    fn table_tag(&self) -> Result<Tag, Fault> {
        let tag = Tag::builder().key(DEPLOYMENT_TAG);
        tag.value(&self.deployment.name).build().map_err(unsound)
    }
}
