//! The Secrets port on Secrets Manager: a secret per value, under the deployment, its owner and its Session.
//!
//! What is erased is erased at once, without the days of grace that a person would want: whoever deletes a Session means it. The surprise is how
//! what is to be erased is found: Secrets Manager lists what was made a moment ago minutes later, and S3 lists it at once, so that each value
//! has an empty object of its name in the bucket, from before it is made until it is gone.

use std::collections::BTreeSet;

use async_trait::async_trait;
use aws_sdk_s3::primitives::ByteStream;
use aws_sdk_secretsmanager::types::{Filter, FilterNameStringType};

use super::blobs::sweep::sweep;
use super::calls::{Purpose, for_purpose};
use super::client::AwsClients;
use super::fault::Fault;
use crate::api::Secret;
use crate::backend::local::ids;
use crate::engine::ports::{BlobScope, SecretError, SecretRef, Secrets, StoreFault};

/// Stands before each value, because there are no empty ones in Secrets Manager.
const FORM: char = '=';
/// What the names of values have before them in the bucket.
pub(super) const MARKS: &str = "secrets/";

/// Values in Secrets Manager.
pub struct ManagedSecrets {
    client: aws_sdk_secretsmanager::Client,
    s3: aws_sdk_s3::Client,
    bucket: String,
    deployment: String,
}

impl ManagedSecrets {
    /// The values of a deployment, whose bucket has their names. Sends nothing.
    pub fn new(clients: &AwsClients, deployment: &str, bucket: &str) -> ManagedSecrets {
        ManagedSecrets {
            client: clients.secrets(),
            s3: clients.s3(),
            bucket: bucket.to_owned(),
            deployment: deployment.to_owned(),
        }
    }

    fn prefix(&self, scope: &BlobScope) -> Result<String, SecretError> {
        for part in [&scope.owner, &scope.session] {
            let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
            if part.is_empty() || !part.bytes().all(plain) {
                return Err(SecretError::Invalid(format!("{part:?} is no name")));
            }
        }
        Ok(format!(
            "{}/{}/{}/",
            self.deployment, scope.owner, scope.session
        ))
    }

    /// Names of all values of the deployment's Sessions. What somebody else put under its name is not among them.
    ///
    /// # Errors
    /// AWS did not say.
    pub async fn of_deployment(&self) -> Result<Vec<String>, Fault> {
        let prefix = format!("{}/", self.deployment);
        let mut names: BTreeSet<String> = match self.marked(&prefix).await {
            Ok(marked) => marked.into_iter().collect(),
            // Without a bucket there are no marks.
            Err(fault) if fault.is("NoSuchBucket") => BTreeSet::new(),
            Err(fault) => return Err(fault),
        };
        names.extend(self.names(&prefix).await?);
        Ok(names.into_iter().filter(|name| is_ours(name)).collect())
    }

    /// Erases a value for good. One that is not there is erased.
    ///
    /// # Errors
    /// AWS did not do it.
    pub async fn delete(&self, name: &str) -> Result<(), Fault> {
        let delete = self.client.delete_secret().secret_id(name);
        let deleted = delete.force_delete_without_recovery(true).send().await;
        match deleted.map_err(|error| Fault::of(&error)) {
            Ok(_) => Ok(()),
            Err(fault) if fault.is("ResourceNotFoundException") => Ok(()),
            Err(fault) => Err(fault),
        }
    }

    /// Says that a value of this name may be there.
    async fn mark(&self, name: &str) -> Result<(), Fault> {
        let marked = self
            .s3
            .put_object()
            .bucket(&self.bucket)
            .key(format!("{MARKS}{name}"))
            .body(ByteStream::from_static(b""))
            .send()
            .await;
        marked.map(drop).map_err(|error| Fault::of(&error))
    }

    /// Names that were marked, whether or not there is a value.
    async fn marked(&self, prefix: &str) -> Result<Vec<String>, Fault> {
        let mut pages = {
            self.s3
                .list_objects_v2()
                .bucket(&self.bucket)
                .prefix(format!("{MARKS}{prefix}"))
        }
        .into_paginator()
        .send();
        let mut names = Vec::new();
        while let Some(page) = pages.next().await {
            let page = page.map_err(|error| Fault::of(&error))?;
            let keys = page.contents().iter().filter_map(|object| object.key());
            names.extend(keys.filter_map(|key| Some(key.strip_prefix(MARKS)?.to_owned())));
        }
        Ok(names)
    }

    async fn erase_all(&self, prefix: &str) -> Result<(), Fault> {
        let marked = self.marked(prefix).await?;
        let mut names: BTreeSet<String> = marked.into_iter().collect();
        names.extend(self.names(prefix).await?);
        for name in &names {
            self.delete(name).await?;
        }
        // Last, so that what is interrupted finds them again.
        sweep(&self.s3, &self.bucket, &format!("{MARKS}{prefix}")).await
    }

    async fn names(&self, prefix: &str) -> Result<Vec<String>, Fault> {
        let begins = Filter::builder()
            .key(FilterNameStringType::Name)
            .values(prefix);
        let mut pages = { self.client.list_secrets().filters(begins.build()) }
            .into_paginator()
            .send();
        let mut names = Vec::new();
        while let Some(page) = pages.next().await {
            let page = page.map_err(|error| Fault::of(&error))?;
            let found = page.secret_list().iter().filter_map(|secret| secret.name());
            // The filter looks at words, so that it finds more.
            names.extend(
                found
                    .filter(|name| name.starts_with(prefix))
                    .map(str::to_owned),
            );
        }
        Ok(names)
    }
}

#[async_trait]
impl Secrets for ManagedSecrets {
    async fn put(&self, scope: &BlobScope, value: &Secret) -> Result<SecretRef, SecretError> {
        let mut random = [0; 16];
        ids::fill(&mut random);
        let random = data_encoding::HEXLOWER.encode(&random);
        let name = format!("{}{random}", self.prefix(scope)?);
        let marked = for_purpose(Purpose::Secret, self.mark(&name)).await;
        marked.map_err(sort)?;
        let create = self
            .client
            .create_secret()
            .name(name)
            // A repeat of a request whose answer was lost finds its own secret.
            .client_request_token(&random)
            .secret_string(format!("{FORM}{}", value.reveal()));
        let created = for_purpose(Purpose::Secret, create.send()).await;
        created.map_err(|error| sort(Fault::of(&error)))?;
        Ok(SecretRef(random))
    }

    async fn get(&self, scope: &BlobScope, at: &SecretRef) -> Result<Secret, SecretError> {
        let missing = || SecretError::Missing(at.0.clone());
        if at.0.is_empty() || !at.0.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(missing());
        }
        let name = format!("{}{}", self.prefix(scope)?, at.0);
        let get = self.client.get_secret_value().secret_id(name);
        let found = for_purpose(Purpose::Secret, get.send()).await;
        let found = found.map_err(|error| match Fault::of(&error) {
            fault if fault.is("ResourceNotFoundException") => missing(),
            fault => sort(fault),
        })?;
        match found
            .secret_string()
            .and_then(|value| value.strip_prefix(FORM))
        {
            Some(value) => Ok(Secret::new(value)),
            None => Err(SecretError::Sealed(at.0.clone())),
        }
    }

    async fn erase(&self, scope: &BlobScope) -> Result<(), SecretError> {
        let prefix = self.prefix(scope)?;
        for_purpose(Purpose::Secret, self.erase_all(&prefix))
            .await
            .map_err(sort)
    }
}

/// `<deployment>/<owner>/<Session>/<32 hexadecimal digits>`, as `put` calls a value.
fn is_ours(name: &str) -> bool {
    let parts: Vec<&str> = name.split('/').collect();
    matches!(
        parts.as_slice(),
        [_, _, _, last] if last.len() == 32 && last.bytes().all(|byte| byte.is_ascii_hexdigit())
    )
}

/// The value of a secret that an operator made, by its name.
///
/// # Errors
/// There is none of this name, it holds no text, or it can't be read now.
pub async fn named_value(clients: &AwsClients, name: &str) -> Result<Secret, Fault> {
    let client = clients.secrets();
    let get = client.get_secret_value().secret_id(name);
    let found = for_purpose(Purpose::Secret, get.send()).await;
    let found = found.map_err(|error| Fault::of(&error))?;
    found
        .secret_string()
        .map(Secret::new)
        .ok_or(Fault::Refused {
            code: "NoText".to_owned(),
            message: "the secret holds no text".to_owned(),
        })
}

fn sort(fault: Fault) -> SecretError {
    let broken = |kind| SecretError::Broken {
        fault: kind,
        message: fault.to_string(),
    };
    match &fault {
        Fault::Unreachable(_) | Fault::Uncertain(_) | Fault::Throttled(_) => {
            SecretError::Unavailable(fault.to_string())
        }
        Fault::Credentials(_) => broken(StoreFault::Credentials),
        Fault::Denied(_) => broken(StoreFault::Denied),
        Fault::Refused { .. } => SecretError::Invalid(fault.to_string()),
    }
}
