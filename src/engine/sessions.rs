//! Sessions as resources: created with a snapshot of their Agent, updated, deleted.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::accept::{Rows, decide};
use super::core::{Core, backoff};
use super::draft::Draft;
use super::error::EngineError;
use super::ids::{self, Kind, SessionId, sha256_hex};
use super::keys;
use super::ports::{
    BlobScope, Change, EnvironmentSpec, Guard, Isolation, Key, SecretRef, StoreError, Write,
};
use super::receipt::{CreateReceipt, Outcome};
use super::session::Head;
use super::start_files::StartFile;
use super::subagent::MAX_OPEN_SUBAGENTS;
use super::tools::{self, SecretsByLabel, ServedTools};
use crate::api::{
    AgentToolParam, HarnessChoice, InputEvent, MessageInput, Metadata, Patch, Secret, SessionAgent,
    SessionCreateParams, SessionUpdateParams, canonical_json,
};

/// Row `config`: what a Session is configured with. Rewritten only by updates.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Config {
    /// The Agent's snapshot: later edits of the saved Agent change nothing here.
    pub agent: Arc<SessionAgent>,
    /// Where commands run; `None` for environment `none`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub environment: Option<EnvironmentSpec>,
    /// Where the values of its variables are; `None` if it has none (or they are in its spec, as of old).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variables: Option<SecretRef>,
    /// Where the values are that its Agent's tools may use; `None` if there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_secrets: Option<SecretRef>,
    /// Files that the environment has from its beginning.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<StartFile>,
    /// The client's names and values.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: Metadata,
    /// Vaults whose credentials it may use.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub vault_ids: Vec<String>,
}

/// A Session that exists now.
#[derive(Clone, Debug, PartialEq)]
pub struct Created {
    /// Its id.
    pub session: SessionId,
    /// What became of its first inputs.
    pub outcomes: Vec<Outcome>,
    /// It had been created under this key before.
    pub repeated: bool,
}

impl Core {
    /// A Session's configuration.
    pub async fn config(&self, session: &SessionId) -> Result<Option<Config>, EngineError> {
        self.row(session, keys::CONFIG.to_owned()).await
    }

    /// Creates a Session, with its first inputs in the same commit. With a key it is created once.
    ///
    /// # Errors
    /// Refusals name the field; [`EngineError::KeyReused`] as for inputs.
    pub async fn create_session(
        &self,
        owner: &str,
        key: Option<&str>,
        params: &SessionCreateParams,
    ) -> Result<Created, EngineError> {
        let digest = sha256_hex(&canonical_json(
            &serde_json::to_value(params).unwrap_or_default(),
        ));
        let receipt_key = key.map(|key| {
            Key::new(
                keys::owner_partition(owner),
                keys::create_receipt(&keys::key_hash(key)),
            )
        });
        if let Some(at) = &receipt_key
            && let Some(created) = self.created_earlier(at, &digest).await?
        {
            return Ok(created);
        }
        let session = SessionId::random(&*self.ids);
        let start = self.start_of(owner, &params.environment).await?;
        let (agent, tool_secrets) = self.snapshot(owner, params).await?;
        let vault_ids = self.vaults_of(owner, params).await?;
        let spec = start.as_ref().map(|start| &start.spec);
        self.check_agent(&agent, spec)?;
        self.check_credentials(owner, &vault_ids, &agent).await?;
        let mut config = Config {
            agent: Arc::new(agent),
            environment: spec.cloned(),
            variables: None,
            tool_secrets: None,
            files: Vec::new(),
            metadata: params.metadata.clone().unwrap_or_default(),
            vault_ids,
        };
        let now_ms = self.clock.now_ms();
        let mut head = Head::new(owner.to_owned(), now_ms);
        head.isolation = isolation_note(config.environment.as_ref());
        let events: Vec<InputEvent> = first_input(params).into_iter().collect();
        let batch = match events.is_empty() {
            true => Vec::new(),
            false => self.prepare(owner, &session, &head, &events).await?,
        };
        let mut draft = Draft::create(&session, head, now_ms);
        let outcomes = decide(&mut draft, &Rows::default(), &batch)?;
        let scope = self.scope(owner, &session);
        if let Some(values) = tools::to_seal(&tool_secrets) {
            config.tool_secrets = Some(self.secrets.put(&scope, &values).await?);
        }
        if let Some(start) = &start {
            config.files = self.keep_files(&scope, &start.files).await?;
            if let Some(values) = &start.variables {
                config.variables = Some(self.secrets.put(&scope, values).await?);
            }
            let row = keys::environment(&start.spec.id);
            let session = Change::Put(super::core::encode(&session));
            draft.write(
                Key::new(keys::owner_partition(owner), row),
                Guard::Absent,
                session,
            );
        }
        draft.insert(keys::CONFIG.to_owned(), &config);
        self.list_session(&mut draft, owner, now_ms);
        if let Some(at) = receipt_key.clone() {
            let receipt = CreateReceipt {
                digest: digest.clone(),
                session: session.to_string(),
            };
            draft.write(
                at,
                Guard::Absent,
                Change::Put(super::core::encode(&receipt)),
            );
        }
        let (commit, _) = draft.seal(&*self.ids);
        let committed = self.commit_once(commit).await;
        if config.variables.is_some() || config.tool_secrets.is_some() {
            self.forget_values_unless_stored(&scope, &committed).await;
        }
        match (committed, receipt_key) {
            (Ok(()), _) => {
                self.bell.ring(session.as_str());
                Ok(Created {
                    session,
                    outcomes,
                    repeated: false,
                })
            }
            // The same key won elsewhere at the same moment.
            (Err(StoreError::Conflict(_)), Some(at)) => self
                .created_earlier(&at, &digest)
                .await?
                .ok_or(EngineError::Busy { attempts: 1 }),
            (Err(error), _) => Err(error.into()),
        }
    }

    /// Values of a Session that was certainly not created: nothing points at them, and nothing will. What can't be erased now stays
    /// sealed.
    async fn forget_values_unless_stored(
        &self,
        scope: &BlobScope,
        committed: &Result<(), StoreError>,
    ) {
        if let Ok(()) | Err(StoreError::Unknown(_)) = committed {
            return;
        }
        if let Err(error) = self.secrets.erase(scope).await {
            tracing::warn!(session = scope.session, %error, "values of a session that was not created are left behind");
        }
    }

    async fn created_earlier(
        &self,
        at: &Key,
        digest: &str,
    ) -> Result<Option<Created>, EngineError> {
        let Some(record) = self.store.get(at).await? else {
            return Ok(None);
        };
        let receipt: CreateReceipt = super::core::decode(&record)?;
        if receipt.digest != digest {
            return Err(EngineError::KeyReused {
                stored: receipt.digest,
                given: digest.to_owned(),
            });
        }
        let session = SessionId::parse(&receipt.session)
            .ok_or_else(|| EngineError::damaged(at, "it names no session"))?;
        Ok(Some(Created {
            session,
            outcomes: Vec::new(),
            repeated: true,
        }))
    }

    fn list_session(&self, draft: &mut Draft, owner: &str, created_ms: u64) {
        let partition = keys::owner_partition(owner);
        let id = draft.session.to_string();
        let by_time = Key::new(partition.clone(), keys::session_by_time(created_ms, &id));
        let by_id = Key::new(partition, keys::session_by_id(&id));
        draft.write(by_time, Guard::Absent, Change::Put(Vec::new()));
        draft.write(
            by_id,
            Guard::Absent,
            Change::Put(super::core::encode(&created_ms)),
        );
    }

    /// The Agent as this Session has it: the saved one, what the request overrides, and defaults. With it comes what its tools may use.
    async fn snapshot(
        &self,
        owner: &str,
        params: &SessionCreateParams,
    ) -> Result<(SessionAgent, SecretsByLabel), EngineError> {
        let (mut agent, mut tool_secrets) = match &params.agent_id {
            Some(id) => {
                let (_, saved) = self.agent(owner, id).await?;
                (SessionAgent::of_saved(&saved), tools::of_saved(&saved))
            }
            None => {
                let id = ids::random(Kind::Agent, &*self.ids);
                (
                    SessionAgent::of_model(id, String::new()),
                    SecretsByLabel::new(),
                )
            }
        };
        if let Some(given) = params.agent.clone() {
            given_secrets(&given.tools, &mut tool_secrets);
            agent.override_with(given);
        }
        if agent.model.is_empty() {
            return Err(EngineError::invalid(
                "agent.model",
                "agent_id or agent.model is required",
            ));
        }
        Ok((agent, tool_secrets))
    }

    /// The vaults that a request names, each of which must be there.
    async fn vaults_of(
        &self,
        owner: &str,
        params: &SessionCreateParams,
    ) -> Result<Vec<String>, EngineError> {
        let ids = params.vault_ids.clone().unwrap_or_default();
        for (at, id) in ids.iter().enumerate() {
            let param = format!("vault_ids[{at}]");
            match self.vault(owner, id).await {
                Ok(_) if ids[..at].contains(id) => {
                    return Err(EngineError::invalid(&param, "this vault is named twice"));
                }
                Ok(_) => {}
                Err(EngineError::NotFound { .. }) => {
                    let message = format!("Vault '{id}' was not found.");
                    return Err(EngineError::invalid(&param, message));
                }
                Err(error) => return Err(error),
            }
        }
        Ok(ids)
    }

    /// Changes what an update may change. Model, tools and reasoning reach the Agent with its next Turn.
    pub async fn update_session(
        &self,
        owner: &str,
        session: &SessionId,
        params: &SessionUpdateParams,
    ) -> Result<(), EngineError> {
        let given = params.agent.as_ref().map(|agent| &agent.tools);
        let replaced = given.is_some_and(|tools| *tools != Patch::Keep);
        let mut tool_secrets = SecretsByLabel::new();
        if let Some(given) = given {
            given_secrets(given, &mut tool_secrets);
        }
        let mut sealed = None;
        if let Some(given) = params.agent.clone().filter(|_| replaced) {
            // For the owner alone: anybody else is refused before something is looked up or stored.
            self.load_owned(owner, session).await?;
            let config = self.config(session).await?;
            let config =
                config.ok_or_else(|| EngineError::not_found("session", session.as_str()))?;
            let mut agent = (*config.agent).clone();
            agent.update(given);
            self.check_agent(&agent, config.environment.as_ref())?;
            let vaults = &config.vault_ids;
            self.check_credentials(owner, vaults, &agent).await?;
            if let Some(values) = tools::to_seal(&tool_secrets) {
                let scope = self.scope(owner, session);
                sealed = Some(self.secrets.put(&scope, &values).await?);
            }
        }
        self.amend(owner, session, |draft, config| {
            let mut config = config.clone();
            let metadata = params.metadata.clone();
            metadata.apply_or_default(&mut config.metadata);
            if let Some(given) = params.agent.clone() {
                let mut agent = (*config.agent).clone();
                agent.update(given);
                self.check_agent(&agent, config.environment.as_ref())?;
                config.agent = Arc::new(agent);
            }
            if replaced {
                config.tool_secrets.clone_from(&sealed);
            }
            draft.put(keys::CONFIG.to_owned(), &config);
            Ok(())
        })
        .await
    }

    /// What this deployment can't do is refused by name, not ignored.
    fn check_agent(
        &self,
        agent: &SessionAgent,
        environment: Option<&EnvironmentSpec>,
    ) -> Result<(), EngineError> {
        let served = agent.harness.map_or(self.settings.tools, ServedTools::of);
        tools::check(agent, environment, served)?;
        let multi_agent = &agent.multi_agent;
        if !multi_agent.enabled {
            return Ok(());
        }
        let is_codex = |harness| harness == HarnessChoice::Codex;
        if !agent.harness.map_or(self.settings.subagents, is_codex) {
            return Err(EngineError::invalid(
                "agent.multi_agent.enabled",
                "subagents are served with the harness codex, and not with the one that works here",
            ));
        }
        let most = MAX_OPEN_SUBAGENTS as u64;
        if multi_agent.max_concurrent_subagents > Some(most) {
            let message = format!("at most {most} subagents may work at once");
            return Err(EngineError::invalid(
                "agent.multi_agent.max_concurrent_subagents",
                message,
            ));
        }
        Ok(())
    }

    /// Deletes a Session: after this answers it is gone for every reader, and no late write succeeds (I14). Its rows, bytes and
    /// environment are erased afterwards.
    pub async fn delete_session(
        &self,
        owner: &str,
        session: &SessionId,
    ) -> Result<(), EngineError> {
        self.amend(owner, session, |draft, config| {
            let now_ms = draft.now_ms;
            draft.head.fence.shut(now_ms);
            draft.head.deleted_ms = Some(now_ms);
            draft.move_agenda();
            let partition = keys::owner_partition(owner);
            let lists = [
                keys::session_by_time(draft.head.created_ms, session.as_str()),
                keys::session_by_id(session.as_str()),
            ];
            let environment = config.environment.as_ref();
            for sort in lists
                .into_iter()
                .chain(environment.map(|own| keys::environment(&own.id)))
            {
                let key = Key::new(partition.clone(), sort);
                draft.write(key, Guard::Any, Change::Delete);
            }
            Ok(())
        })
        .await?;
        self.bell.ring(session.as_str());
        Ok(())
    }

    /// An operator vouches that a quarantined worker is gone.
    ///
    /// # Errors
    /// [`EngineError::Conflict`] when the Session is not in quarantine.
    pub async fn release_quarantine(
        &self,
        owner: &str,
        session: &SessionId,
    ) -> Result<(), EngineError> {
        self.amend(owner, session, |draft, _| {
            draft.move_agenda();
            draft.head.fence.operator_release().map_err(|_| {
                EngineError::Conflict(
                    "this run is not in quarantine; there is nothing to release".into(),
                )
            })
        })
        .await?;
        self.bell.ring(session.as_str());
        Ok(())
    }

    /// Commits one change of an owner's Session, decided anew as often as others are quicker.
    pub(super) async fn amend(
        &self,
        owner: &str,
        session: &SessionId,
        change: impl Fn(&mut Draft, &Config) -> Result<(), EngineError>,
    ) -> Result<(), EngineError> {
        for attempt in self.decisions() {
            if attempt > 0 {
                tokio::time::sleep(backoff(attempt.min(6))).await;
            }
            let loaded = self.load_owned(owner, session).await?;
            let config = self.config(session).await?;
            let config =
                config.ok_or_else(|| EngineError::not_found("session", session.as_str()))?;
            let mut draft = Draft::of(session, &loaded, self.clock.now_ms());
            change(&mut draft, &config)?;
            let (commit, _) = draft.seal(&*self.ids);
            match self.commit_once(commit).await {
                Ok(()) => return Ok(()),
                Err(StoreError::Conflict(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(EngineError::Busy {
            attempts: self.decisions().end,
        })
    }

    /// A write of an owner's list.
    pub(super) fn owner_write(
        &self,
        owner: &str,
        sort: String,
        guard: Guard,
        change: Change,
    ) -> Write {
        Write {
            key: Key::new(keys::owner_partition(owner), sort),
            guard,
            change,
        }
    }
}

/// The input that comes with a creation.
fn first_input(params: &SessionCreateParams) -> Option<InputEvent> {
    let input = params.input.clone()?.into_messages();
    Some(InputEvent::Message(MessageInput {
        input,
        delivery: None,
    }))
}

/// The variables that a stored value holds; `None` if it holds something else.
pub(super) fn variables(value: &Secret) -> Option<BTreeMap<String, String>> {
    serde_json::from_str(value.reveal()).ok()
}

/// What tools may use that replace those of before.
fn given_secrets(given: &Patch<Vec<AgentToolParam>>, secrets: &mut SecretsByLabel) {
    match given {
        Patch::Keep => {}
        Patch::Clear => secrets.clear(),
        Patch::Set(tools) => *secrets = tools::of_given(tools),
    }
}

/// How commands of a Session are isolated, in words, when it is not the sandbox.
pub(super) fn isolation_note(spec: Option<&EnvironmentSpec>) -> Option<String> {
    match spec.map(|spec| spec.isolation) {
        Some(Isolation::UnsafeNone) => Some("unsafe-none".into()),
        Some(Isolation::Sandbox) | None => None,
    }
}
