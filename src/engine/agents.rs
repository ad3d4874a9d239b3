//! Saved Agents: named configurations that Sessions are created from.

use super::core::{Core, backoff, decode, encode};
use super::error::EngineError;
use super::ids::{self, Kind};
use super::keys;
use super::ports::{Change, Commit, CommitId, Guard, Key, StoreError};
use crate::api::{Agent, AgentCreateParams, AgentUpdateParams};

impl Core {
    /// Saves a new Agent.
    pub async fn create_agent(
        &self,
        owner: &str,
        params: &AgentCreateParams,
    ) -> Result<Agent, EngineError> {
        let now_ms = self.clock.now_ms();
        let id = ids::random(Kind::Agent, &*self.ids);
        let agent = Agent::create(id, now_ms / 1000, params.clone());
        let writes = vec![
            self.owner_write(
                owner,
                keys::agent(&agent.id),
                Guard::Absent,
                Change::Put(encode(&agent)),
            ),
            self.owner_write(
                owner,
                keys::agent_by_time(now_ms, &agent.id),
                Guard::Absent,
                Change::Put(Vec::new()),
            ),
        ];
        self.commit_once(Commit {
            id: CommitId::random(&*self.ids),
            writes: writes.into(),
        })
        .await?;
        Ok(agent)
    }

    /// A saved Agent, with its record's version.
    pub async fn agent(&self, owner: &str, id: &str) -> Result<(u64, Agent), EngineError> {
        let missing = || EngineError::not_found("agent", id);
        if !ids::well_formed(Kind::Agent, id) {
            return Err(missing());
        }
        let key = Key::new(keys::owner_partition(owner), keys::agent(id));
        let record = self.store.get(&key).await?.ok_or_else(missing)?;
        Ok((record.version, decode(&record)?))
    }

    /// Changes a saved Agent. Sessions that exist keep their snapshot.
    pub async fn update_agent(
        &self,
        owner: &str,
        id: &str,
        params: &AgentUpdateParams,
    ) -> Result<Agent, EngineError> {
        for attempt in self.decisions() {
            if attempt > 0 {
                tokio::time::sleep(backoff(attempt.min(6))).await;
            }
            let (version, mut agent) = self.agent(owner, id).await?;
            agent.update(params.clone(), self.clock.now_ms() / 1000);
            let change = Change::Put(encode(&agent));
            let writes =
                vec![self.owner_write(owner, keys::agent(id), Guard::Version(version), change)];
            match self
                .commit_once(Commit {
                    id: CommitId::random(&*self.ids),
                    writes: writes.into(),
                })
                .await
            {
                Ok(()) => return Ok(agent),
                Err(StoreError::Conflict(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(EngineError::Busy {
            attempts: self.decisions().end,
        })
    }

    /// Forgets a saved Agent. Sessions created from it go on.
    pub async fn delete_agent(&self, owner: &str, id: &str) -> Result<(), EngineError> {
        self.agent(owner, id).await?;
        let mut writes = vec![self.owner_write(owner, keys::agent(id), Guard::Any, Change::Delete)];
        if let Some(created_ms) = self.agent_created_ms(owner, id).await? {
            let sort = keys::agent_by_time(created_ms, id);
            writes.push(self.owner_write(owner, sort, Guard::Any, Change::Delete));
        }
        self.commit_once(Commit {
            id: CommitId::random(&*self.ids),
            writes: writes.into(),
        })
        .await?;
        Ok(())
    }

    /// When the list has an Agent. Its record tells seconds, the list milliseconds: found among that second's.
    pub(super) async fn agent_created_ms(
        &self,
        owner: &str,
        id: &str,
    ) -> Result<Option<u64>, EngineError> {
        let (_, agent) = self.agent(owner, id).await?;
        let first = agent.created_at * 1000;
        let range = super::ports::Range {
            partition: keys::owner_partition(owner),
            from: keys::agent_by_time(first, ""),
            until: Some(keys::agent_by_time(first + 1000, "")),
            reverse: false,
            limit: 10_000,
        };
        let page = self.store.range(&range).await?;
        let sorts = page
            .records
            .iter()
            .filter_map(|r| r.key.sort.strip_prefix("agents/")?.split_once('/'));
        Ok(sorts
            .filter(|(_, found)| *found == id)
            .find_map(|(ms, _)| ms.parse().ok()))
    }
}
