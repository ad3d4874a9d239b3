//! Templates of environments: what new environments are made from.
//!
//! Values of variables are sealed, and inline files are bytes, both in one scope of the template. A change of either makes a new
//! scope, and the commit that names it has the old one erased.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::chores::{Chore, Promise, scope_of};
use super::core::{Core, backoff};
use super::error::EngineError;
use super::ids::{self, Kind};
use super::owned::{Collection, Found};
use super::ports::{BlobRef, Network, SecretRef, StoreError, Write};
use super::read::ListQuery;
use super::start_files::{From, Wanted};
use super::starting::{network_of, refuse_unsupported};
use crate::api::{
    EnvironmentTemplate, HostedEnvironmentParam, HostedFileParam, Packages, Page, Patch, Secret,
    TemplateCreateParams, TemplateFile, TemplateObject, TemplateUpdateParams,
};

/// An owner's templates.
pub fn templates() -> Collection {
    Collection::new(
        "template",
        Kind::Template,
        "template".into(),
        "templates".into(),
    )
}

/// Row of a template. Nothing in it is secret.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TemplateRow {
    /// For people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What commands may reach at most; `None`: it does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<Network>,
    /// Files that are put there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<TemplateFileRow>,
    /// Where values of variables and inline files are; `None`: there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
    /// The values of its variables, in that scope.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variables: Option<SecretRef>,
    /// Unix ms.
    pub created_ms: u64,
    /// Unix ms.
    pub updated_ms: u64,
}

/// A file of a template.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TemplateFileRow {
    /// Absolute, below `/workspace`.
    pub path: String,
    /// What it is copied from.
    #[serde(flatten)]
    pub from: TemplateFrom,
}

/// What a template's file is copied from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TemplateFrom {
    /// An uploaded file, as it is when an environment is made.
    FileId(String),
    /// Bytes in the template's scope.
    Blob(BlobRef),
}

/// Values of variables by name.
pub(super) type Variables = BTreeMap<String, Secret>;

/// What a template holds that is not in its row.
struct Contents {
    variables: Variables,
    files: Vec<TemplateFileRow>,
    /// Bytes of those of the files that are inline, in order.
    inline: Vec<From>,
}

impl Core {
    /// Makes a template.
    pub async fn create_template(
        &self,
        owner: &str,
        params: TemplateCreateParams,
    ) -> Result<EnvironmentTemplate, EngineError> {
        let asked = described(&params);
        refuse_unsupported("", &asked)?;
        let network = network_of("", &asked)?;
        let contents = Contents {
            variables: asked.env.unwrap_or_default(),
            ..self
                .given_files(owner, asked.files.unwrap_or_default())
                .await?
        };
        let now_ms = self.clock.now_ms();
        let mut row = TemplateRow {
            name: params.name,
            network,
            files: Vec::new(),
            scope: None,
            variables: None,
            created_ms: now_ms,
            updated_ms: now_ms,
        };
        let promise = self.store_contents(owner, &mut row, contents).await?;
        let id = ids::random(Kind::Template, &*self.ids);
        let mut writes: Vec<Write> = promise.iter().map(Promise::redeemed).collect();
        writes.extend(self.add_owned(owner, &templates(), (&id, now_ms), &row));
        let added = self.commit_writes(writes).await.map_err(EngineError::from);
        self.settle_template(promise.as_ref(), added).await?;
        Ok(self.template_shown(id, &row))
    }

    /// A template.
    pub async fn template(
        &self,
        owner: &str,
        id: &str,
    ) -> Result<EnvironmentTemplate, EngineError> {
        let row = self.template_row(owner, id).await?;
        Ok(self.template_shown(id.to_owned(), &row))
    }

    pub(super) async fn template_row(
        &self,
        owner: &str,
        id: &str,
    ) -> Result<TemplateRow, EngineError> {
        let found: Found<TemplateRow> = self.owned(owner, &templates(), id).await?;
        Ok(found.row)
    }

    /// Templates by creation time.
    pub async fn list_templates(
        &self,
        owner: &str,
        query: &ListQuery,
    ) -> Result<Page<EnvironmentTemplate>, EngineError> {
        let any = |_: &TemplateRow| true;
        let (found, more) = self.list_owned(owner, &templates(), query, any).await?;
        let shown = found
            .into_iter()
            .map(|(id, row)| self.template_shown(id, &row));
        Ok(Page::new(shown.collect(), more))
    }

    /// Changes a template. Environments that were made from it stay as they are.
    pub async fn update_template(
        &self,
        owner: &str,
        id: &str,
        params: TemplateUpdateParams,
    ) -> Result<EnvironmentTemplate, EngineError> {
        let asked = described_update(&params);
        refuse_unsupported("", &asked)?;
        let network = network_of("", &asked)?;
        let of = templates();
        for attempt in self.decisions() {
            if attempt > 0 {
                tokio::time::sleep(backoff(attempt.min(6))).await;
            }
            let mut found: Found<TemplateRow> = self.owned(owner, &of, id).await?;
            let now_ms = self.clock.now_ms();
            let old_scope = found.row.scope.clone();
            let row = &mut found.row;
            row.updated_ms = now_ms;
            params.name.clone().apply(&mut row.name);
            match &params.network {
                Patch::Keep => {}
                Patch::Clear => row.network = None,
                Patch::Set(_) => row.network.clone_from(&network),
            }
            let mut writes = Vec::new();
            let mut promise = None;
            if !(params.env.is_keep() && params.files.is_keep()) {
                let contents = self.new_contents(owner, row, &params).await?;
                promise = self.store_contents(owner, row, contents).await?;
                writes.extend(promise.iter().map(Promise::redeemed));
                if let Some(old) = &old_scope {
                    writes.push(self.chore(owner, old, now_ms, &Chore::Scope));
                }
            }
            let erase = writes.last().map(|write| write.key.clone());
            writes.push(self.put_owned(owner, &of, id, &found));
            let committed = self.commit_writes(writes).await;
            let again = matches!(committed, Err(StoreError::Conflict(_)));
            let changed = committed.map_err(EngineError::from);
            match self.settle_template(promise.as_ref(), changed).await {
                Ok(()) => {
                    if let (Some(_), Some(erase)) = (old_scope, erase) {
                        self.do_now(&erase).await;
                    }
                    return Ok(self.template_shown(id.to_owned(), &found.row));
                }
                Err(_) if again => {}
                Err(error) => return Err(error),
            }
        }
        Err(EngineError::Busy {
            attempts: self.decisions().end,
        })
    }

    /// Deletes a template. Environments that were made from it stay as they are.
    pub async fn delete_template(&self, owner: &str, id: &str) -> Result<(), EngineError> {
        let of = templates();
        let now_ms = self.clock.now_ms();
        let decide = |found: Found<TemplateRow>| {
            let mut writes = self.drop_owned(owner, &of, id, &found).to_vec();
            let scope = found.row.scope.as_deref();
            let erase = scope.map(|scope| self.chore(owner, scope, now_ms, &Chore::Scope));
            let at = erase.as_ref().map(|write| write.key.clone());
            writes.extend(erase);
            Ok((writes, at))
        };
        if let Some(erase) = self.change_owned(owner, &of, id, decide).await? {
            self.do_now(&erase).await;
        }
        Ok(())
    }

    /// The values of a template's variables.
    pub(super) async fn template_variables(
        &self,
        owner: &str,
        row: &TemplateRow,
    ) -> Result<Variables, EngineError> {
        let (Some(scope), Some(at)) = (&row.scope, &row.variables) else {
            return Ok(Variables::new());
        };
        let value = self.secrets.get(&scope_of(owner, scope), at).await?;
        serde_json::from_str(value.reveal()).map_err(|_| EngineError::Damaged {
            key: scope.clone(),
            why: "it holds no variables".to_owned(),
        })
    }

    /// A template's files, for a Session that is made from it.
    pub(super) async fn template_files(
        &self,
        owner: &str,
        row: &TemplateRow,
    ) -> Result<Vec<Wanted>, EngineError> {
        let scope = scope_of(owner, row.scope.as_deref().unwrap_or_default());
        let mut wanted = Vec::with_capacity(row.files.len());
        for (at, file) in row.files.iter().enumerate() {
            let (file_id, from) = match &file.from {
                TemplateFrom::FileId(id) => {
                    let param = format!("environment_template_id: files[{at}].");
                    let blob = self.file_to_copy(owner, &param, id).await?;
                    (Some(id.clone()), From::Stored(scope_of(owner, id), blob))
                }
                TemplateFrom::Blob(blob) => (None, From::Stored(scope.clone(), blob.clone())),
            };
            wanted.push(Wanted {
                path: file.path.clone(),
                file_id,
                from,
            });
        }
        Ok(wanted)
    }

    async fn settle_template(
        &self,
        promise: Option<&Promise>,
        ended: Result<(), EngineError>,
    ) -> Result<(), EngineError> {
        match promise {
            Some(promise) => self.settle_promise(promise, ended).await,
            None => ended,
        }
    }

    /// The files of a request, each of which must be there.
    async fn given_files(
        &self,
        owner: &str,
        given: Vec<HostedFileParam>,
    ) -> Result<Contents, EngineError> {
        let mut contents = Contents {
            variables: Variables::new(),
            files: Vec::new(),
            inline: Vec::new(),
        };
        for (at, file) in given.iter().enumerate() {
            let wanted = self
                .wanted_file(owner, &format!("files[{at}]."), file)
                .await?;
            let from = match wanted.file_id {
                Some(file_id) => TemplateFrom::FileId(file_id),
                None => {
                    contents.inline.push(wanted.from);
                    // Its bytes are stored with all others.
                    TemplateFrom::Blob(BlobRef {
                        sha256: String::new(),
                        size_bytes: 0,
                    })
                }
            };
            contents.files.push(TemplateFileRow {
                path: wanted.path,
                from,
            });
        }
        Ok(contents)
    }

    /// What a template holds once it is changed so.
    async fn new_contents(
        &self,
        owner: &str,
        row: &TemplateRow,
        params: &TemplateUpdateParams,
    ) -> Result<Contents, EngineError> {
        let mut contents = match &params.files {
            Patch::Set(files) => self.given_files(owner, files.clone()).await?,
            Patch::Clear => self.given_files(owner, Vec::new()).await?,
            Patch::Keep => {
                let scope = scope_of(owner, row.scope.as_deref().unwrap_or_default());
                let inline = row.files.iter().filter_map(|file| match &file.from {
                    TemplateFrom::FileId(_) => None,
                    TemplateFrom::Blob(blob) => Some(From::Stored(scope.clone(), blob.clone())),
                });
                Contents {
                    variables: Variables::new(),
                    files: row.files.clone(),
                    inline: inline.collect(),
                }
            }
        };
        contents.variables = match &params.env {
            Patch::Set(env) => env.clone(),
            Patch::Clear => Variables::new(),
            Patch::Keep => self.template_variables(owner, row).await?,
        };
        Ok(contents)
    }

    /// Stores contents in a scope that is erased unless the row comes to name it, if there is anything to store.
    async fn store_contents(
        &self,
        owner: &str,
        row: &mut TemplateRow,
        contents: Contents,
    ) -> Result<Option<Promise>, EngineError> {
        row.files.clone_from(&contents.files);
        row.scope = None;
        row.variables = None;
        if contents.variables.is_empty() && contents.inline.is_empty() {
            return Ok(None);
        }
        let scope = ids::random(Kind::Seal, &*self.ids);
        let promise = self.promise(owner, &scope).await?;
        let stored = self.fill(&promise, row, contents).await;
        self.settle_promise(&promise, stored).await?;
        row.scope = Some(scope);
        Ok(Some(promise))
    }

    async fn fill(
        &self,
        promise: &Promise,
        row: &mut TemplateRow,
        contents: Contents,
    ) -> Result<(), EngineError> {
        if !contents.variables.is_empty() {
            // Texts always serialise.
            let value = serde_json::to_string(&contents.variables).unwrap_or_default();
            let value = Secret::new(value);
            let sealed = self.secrets.put(promise.scope(), &value).await;
            row.variables = Some(sealed?);
        }
        let inline = row
            .files
            .iter_mut()
            .filter_map(|file| match &mut file.from {
                TemplateFrom::FileId(_) => None,
                TemplateFrom::Blob(blob) => Some(blob),
            });
        for (blob, from) in inline.zip(&contents.inline) {
            *blob = self.copy_bytes(promise.scope(), from).await?;
        }
        Ok(())
    }

    fn template_shown(&self, id: String, row: &TemplateRow) -> EnvironmentTemplate {
        let network = row.network.as_ref().unwrap_or(&self.settings.network);
        EnvironmentTemplate {
            id,
            capability_directories: Vec::new(),
            created_at: row.created_ms / 1000,
            files: row.files.iter().map(file_shown).collect(),
            name: row.name.clone(),
            network: super::view::network(network),
            object: TemplateObject::Only,
            packages: Packages::default(),
            plugins: Vec::new(),
            skills: Vec::new(),
            updated_at: row.updated_ms / 1000,
            desktop: None,
        }
    }
}

fn file_shown(file: &TemplateFileRow) -> TemplateFile {
    let path = file.path.clone();
    match &file.from {
        TemplateFrom::FileId(id) => TemplateFile::FileId {
            file_id: id.clone(),
            path,
        },
        TemplateFrom::Blob(blob) => TemplateFile::Inline {
            path,
            size_bytes: blob.size_bytes,
        },
    }
}

/// What a request describes, as a Session's would.
fn described(params: &TemplateCreateParams) -> HostedEnvironmentParam {
    HostedEnvironmentParam {
        capability_directories: params.capability_directories.clone(),
        desktop: params.desktop,
        env: params.env.clone(),
        files: params.files.clone(),
        network: params.network.clone(),
        packages: params.packages.clone(),
        plugins: params.plugins.clone(),
        setup_commands: params.setup_commands.clone(),
        skills: params.skills.clone(),
        ..HostedEnvironmentParam::default()
    }
}

fn described_update(params: &TemplateUpdateParams) -> HostedEnvironmentParam {
    described(&TemplateCreateParams {
        capability_directories: params.capability_directories.as_set().cloned(),
        desktop: params.desktop.as_set().copied(),
        env: None,
        files: None,
        name: None,
        network: params.network.as_set().cloned(),
        packages: params.packages.as_set().cloned(),
        plugins: params.plugins.as_set().cloned(),
        setup_commands: params.setup_commands.as_set().cloned(),
        skills: params.skills.as_set().cloned(),
    })
}
