//! Saved Agents: named configurations that Sessions are created from.

use super::core::{Core, backoff, decode, encode};
use super::error::EngineError;
use super::ids::{self, Kind};
use super::keys;
use super::ports::{Change, Commit, CommitId, Guard, Key, StoreError};
use crate::api::{
    Agent, AgentCreateParams, AgentObject, AgentReasoning, AgentText, AgentUpdateParams, Experimental, Patch,
};

impl Core {
    /// Saves a new Agent.
    pub async fn create_agent(&self, owner: &str, params: &AgentCreateParams) -> Result<Agent, EngineError> {
        let now_ms = self.clock.now_ms();
        let mut reasoning = AgentReasoning::default();
        params.reasoning.unwrap_or_default().apply(&mut reasoning);
        let mut text = AgentText::default();
        params.text.clone().unwrap_or_default().apply(&mut text);
        let agent = Agent {
            id: ids::random(Kind::Agent, &*self.ids),
            created_at: now_ms / 1000,
            instructions: params.instructions.clone(),
            metadata: params.metadata.clone().unwrap_or_default(),
            model: params.model.clone(),
            multi_agent: params.multi_agent.map(|m| m.resolved()).unwrap_or_default(),
            name: params.name.clone(),
            object: AgentObject::Only,
            reasoning,
            service_tier: params.service_tier.unwrap_or_default(),
            text,
            tools: params.tools.iter().flatten().map(|tool| tool.shown()).collect(),
            updated_at: now_ms / 1000,
            compaction: params.compaction.map(|c| c.resolved()),
            experimental: params
                .experimental
                .map(|e| Experimental { time_awareness: e.time_awareness.unwrap_or_default() }),
        };
        let writes = vec![
            self.owner_write(owner, keys::agent(&agent.id), Guard::Absent, Change::Put(encode(&agent))),
            self.owner_write(
                owner,
                keys::agent_by_time(now_ms, &agent.id),
                Guard::Absent,
                Change::Put(Vec::new()),
            ),
        ];
        self.commit_once(Commit { id: CommitId::random(&*self.ids), writes }).await?;
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
            apply_update(&mut agent, params.clone());
            agent.updated_at = self.clock.now_ms() / 1000;
            let change = Change::Put(encode(&agent));
            let writes = vec![self.owner_write(owner, keys::agent(id), Guard::Version(version), change)];
            match self.commit_once(Commit { id: CommitId::random(&*self.ids), writes }).await {
                Ok(()) => return Ok(agent),
                Err(StoreError::Conflict(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(EngineError::Busy { attempts: self.decisions().end })
    }

    /// Forgets a saved Agent. Sessions created from it go on.
    pub async fn delete_agent(&self, owner: &str, id: &str) -> Result<(), EngineError> {
        self.agent(owner, id).await?;
        let mut writes = vec![self.owner_write(owner, keys::agent(id), Guard::Any, Change::Delete)];
        if let Some(created_ms) = self.agent_created_ms(owner, id).await? {
            let sort = keys::agent_by_time(created_ms, id);
            writes.push(self.owner_write(owner, sort, Guard::Any, Change::Delete));
        }
        self.commit_once(Commit { id: CommitId::random(&*self.ids), writes }).await?;
        Ok(())
    }

    /// When the list has an Agent. Its record tells seconds, the list milliseconds: found among that second's.
    pub(super) async fn agent_created_ms(&self, owner: &str, id: &str) -> Result<Option<u64>, EngineError> {
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
        let sorts = page.records.iter().filter_map(|r| r.key.sort.strip_prefix("agents/")?.split_once('/'));
        Ok(sorts.filter(|(_, found)| *found == id).find_map(|(ms, _)| ms.parse().ok()))
    }
}

fn apply_update(agent: &mut Agent, params: AgentUpdateParams) {
    if let Some(model) = params.model {
        agent.model = model;
    }
    params.instructions.apply(&mut agent.instructions);
    params.name.apply(&mut agent.name);
    params.metadata.apply_or_default(&mut agent.metadata);
    params.multi_agent.map(|m| m.resolved()).apply_or_default(&mut agent.multi_agent);
    params.service_tier.apply_or_default(&mut agent.service_tier);
    params.compaction.map(|c| c.resolved()).apply(&mut agent.compaction);
    let tools = params.tools.map(|tools| tools.iter().map(|tool| tool.shown()).collect());
    tools.apply_or_default(&mut agent.tools);
    match params.reasoning {
        Patch::Keep => {}
        Patch::Clear => agent.reasoning = AgentReasoning::default(),
        Patch::Set(given) => given.apply(&mut agent.reasoning),
    }
    match params.text {
        Patch::Keep => {}
        Patch::Clear => agent.text = AgentText::default(),
        Patch::Set(given) => given.apply(&mut agent.text),
    }
    if let Some(given) = params.experimental {
        let mut merged = agent.experimental.unwrap_or_default();
        merged.time_awareness = given.time_awareness.unwrap_or(merged.time_awareness);
        agent.experimental = Some(merged);
    }
}
