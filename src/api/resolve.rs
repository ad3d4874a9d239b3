//! From requests to Agents: defaults filled in, patches applied, a saved Agent snapshotted into a Session.
//!
//! Everything that is given replaces whole; only `experimental` is merged by key, and a Session's update changes the
//! reasoning effort alone. Pure: ids and times are the caller's.

use crate::api::{
    Agent, AgentCreateParams, AgentObject, AgentReasoning, AgentReasoningParam, AgentText,
    AgentTextParam, AgentTool, AgentToolParam, AgentUpdateParams, Compaction, CompactionParam,
    Experimental, ExperimentalParam, MultiAgentConfig, MultiAgentConfigParam, Patch,
    PersistedAgentTool, PersistedAgentToolParam, SessionAgent, SessionAgentParams,
    SessionAgentUpdateParams,
};

impl Agent {
    /// A new Agent. `now` is Unix seconds.
    pub fn create(id: impl Into<String>, now: u64, params: AgentCreateParams) -> Agent {
        let mut experimental = None;
        merge(&mut experimental, params.experimental);
        Agent {
            id: id.into(),
            created_at: now,
            instructions: params.instructions,
            metadata: params.metadata.unwrap_or_default(),
            model: params.model,
            multi_agent: params.multi_agent.unwrap_or_default().resolved(),
            name: params.name,
            object: AgentObject::Only,
            reasoning: params.reasoning.unwrap_or_default().resolved(),
            service_tier: params.service_tier.unwrap_or_default(),
            text: params.text.unwrap_or_default().resolved(),
            tools: saved_tools(&params.tools.unwrap_or_default()),
            updated_at: now,
            compaction: Some(params.compaction.unwrap_or_default().resolved()),
            experimental,
            harness: params.harness,
        }
    }

    /// Applies an update. `now` is Unix seconds.
    pub fn update(&mut self, params: AgentUpdateParams, now: u64) {
        if let Some(model) = params.model {
            self.model = model;
        }
        params.instructions.apply(&mut self.instructions);
        params.name.apply(&mut self.name);
        params.metadata.apply_or_default(&mut self.metadata);
        let multi_agent = params.multi_agent.map(MultiAgentConfigParam::resolved);
        multi_agent.apply_or_default(&mut self.multi_agent);
        let reasoning = params.reasoning.map(AgentReasoningParam::resolved);
        reasoning.apply_or_default(&mut self.reasoning);
        params.service_tier.apply_or_default(&mut self.service_tier);
        let text = params.text.map(AgentTextParam::resolved);
        text.apply_or_default(&mut self.text);
        let tools = params.tools.map(|tools| saved_tools(&tools));
        tools.apply_or_default(&mut self.tools);
        apply_compaction(params.compaction, &mut self.compaction);
        merge(&mut self.experimental, params.experimental);
        params.harness.apply(&mut self.harness);
        self.updated_at = now;
    }
}

impl SessionAgent {
    /// The snapshot of a saved Agent, under its id.
    pub fn of_saved(agent: &Agent) -> SessionAgent {
        SessionAgent {
            id: agent.id.clone(),
            instructions: agent.instructions.clone(),
            model: agent.model.clone(),
            multi_agent: agent.multi_agent,
            name: agent.name.clone(),
            reasoning: agent.reasoning,
            service_tier: agent.service_tier,
            text: agent.text.clone(),
            tools: agent
                .tools
                .iter()
                .filter_map(PersistedAgentTool::in_session)
                .collect(),
            compaction: agent.compaction,
            experimental: agent.experimental,
            harness: agent.harness,
        }
    }

    /// An Agent of one Session alone, with defaults and no tools.
    pub fn of_model(id: impl Into<String>, model: impl Into<String>) -> SessionAgent {
        SessionAgent {
            id: id.into(),
            instructions: None,
            model: model.into(),
            multi_agent: MultiAgentConfig::default(),
            name: None,
            reasoning: AgentReasoning::default(),
            service_tier: Default::default(),
            text: AgentText::default(),
            tools: Vec::new(),
            compaction: Some(Compaction::default()),
            experimental: None,
            harness: None,
        }
    }

    /// Applies what a Session's creation gives beside the saved Agent, or instead of one.
    pub fn override_with(&mut self, params: SessionAgentParams) {
        if let Some(model) = params.model {
            self.model = model;
        }
        params.instructions.apply(&mut self.instructions);
        let multi_agent = params.multi_agent.map(MultiAgentConfigParam::resolved);
        multi_agent.apply_or_default(&mut self.multi_agent);
        let reasoning = params.reasoning.map(AgentReasoningParam::resolved);
        reasoning.apply_or_default(&mut self.reasoning);
        params.service_tier.apply_or_default(&mut self.service_tier);
        let text = params.text.map(AgentTextParam::resolved);
        text.apply_or_default(&mut self.text);
        let tools = params.tools.map(|tools| session_tools(&tools));
        tools.apply_or_default(&mut self.tools);
        apply_compaction(params.compaction, &mut self.compaction);
        merge(&mut self.experimental, params.experimental);
        params.harness.apply(&mut self.harness);
    }

    /// Applies an update of the Session.
    pub fn update(&mut self, params: SessionAgentUpdateParams) {
        if let Some(model) = params.model {
            self.model = model;
        }
        if let Some(reasoning) = params.reasoning {
            reasoning.effort.apply(&mut self.reasoning.effort);
        }
        params.service_tier.apply_or_default(&mut self.service_tier);
        let tools = params.tools.map(|tools| session_tools(&tools));
        tools.apply_or_default(&mut self.tools);
    }
}

impl CompactionParam {
    /// With its default filled in.
    pub fn resolved(self) -> Compaction {
        Compaction {
            is_async: self.is_async.unwrap_or_default(),
        }
    }
}

impl MultiAgentConfigParam {
    /// With its default filled in; a number beside `enabled: false` means nothing and is dropped.
    pub fn resolved(self) -> MultiAgentConfig {
        let most = self
            .max_concurrent_subagents
            .unwrap_or(MultiAgentConfig::DEFAULT_SUBAGENTS);
        MultiAgentConfig {
            enabled: self.enabled,
            max_concurrent_subagents: self.enabled.then_some(most),
        }
    }
}

impl AgentReasoningParam {
    /// As answers show it.
    pub fn resolved(self) -> AgentReasoning {
        AgentReasoning {
            effort: self.effort,
            summary: self.summary,
        }
    }
}

impl AgentTextParam {
    /// With its defaults filled in.
    pub fn resolved(self) -> AgentText {
        AgentText {
            format: self.format.unwrap_or_default(),
            verbosity: self.verbosity.unwrap_or_default(),
        }
    }
}

fn saved_tools(tools: &[PersistedAgentToolParam]) -> Vec<PersistedAgentTool> {
    tools.iter().map(PersistedAgentToolParam::shown).collect()
}

fn session_tools(tools: &[AgentToolParam]) -> Vec<AgentTool> {
    tools.iter().filter_map(AgentToolParam::shown).collect()
}

/// Null, like an empty object, means the default and not nothing.
fn apply_compaction(patch: Patch<CompactionParam>, field: &mut Option<Compaction>) {
    match patch {
        Patch::Keep => {}
        Patch::Clear => *field = Some(Compaction::default()),
        Patch::Set(param) => *field = Some(param.resolved()),
    }
}

fn merge(field: &mut Option<Experimental>, param: Option<ExperimentalParam>) {
    if let Some(time_awareness) = param.and_then(|param| param.time_awareness) {
        *field = Some(Experimental { time_awareness });
    }
}
