//! The demo world's Sessions, Turns and Items as resources. Pure.

use serde_json::Value;

use super::items::{Stage, past};
use super::part::{ITEMS_PER_TURN, Part};
use super::words::{self, chance};
use super::{APART_MS, Here, Shared};
use crate::api::{
    Agent, AgentReasoning, AgentSession, AgentText, Environment, HostedEnvironment, Item,
    McpToolCallRequest, Metadata, MultiAgentConfig, Network, NetworkAccess, Packages,
    RequiredAction, ServiceTier, SessionAgent, SessionStatus, TokenUsage, Turn, TurnError,
    TurnErrorCode, TurnStatus,
};
use crate::engine::ids::{self, Kind};

/// Saved Agents.
pub(super) const AGENTS: u64 = 3;
const MODELS: [&str; 3] = ["demo", "demo-large", "demo-small"];
const NAMES: [&str; 3] = ["reviewer", "builder", "writer"];
/// Bits of an Item's number that say which one of its Turn it is.
const ITEM_BITS: u32 = 12;

/// Where an Item is: its Turn from 1, and its number in it.
fn item_number(turn: u64, number: u64) -> u64 {
    (turn << ITEM_BITS) | number
}

impl Here {
    /// When it was created, Unix milliseconds.
    pub(super) fn created_ms(&self, shared: &Shared) -> u64 {
        match &self.created {
            Some(created) => created.at_ms,
            None => shared.created_ms(self.number),
        }
    }

    fn last_active_ms(&self, shared: &Shared) -> u64 {
        let before_ms = match &self.created {
            Some(created) => created.at_ms,
            None => self.created_ms(shared) + APART_MS,
        };
        let plays = self.plays.iter().zip(&self.scenes);
        let last = plays.map(|(play, scene)| match (scene.status, scene.ended_ms) {
            (_, Some(ended_ms)) => ended_ms,
            (TurnStatus::InProgress, None) => self.now_ms,
            _ => play.accepted_ms,
        });
        last.fold(before_ms, u64::max)
    }

    /// Its state.
    pub(super) fn status(&self) -> SessionStatus {
        let has = |status| self.scenes.iter().any(|scene| scene.status == status);
        match self.part {
            Part::Failed => SessionStatus::Failed,
            Part::Budget => SessionStatus::BudgetReached,
            _ if has(TurnStatus::Waiting) => SessionStatus::RequiresAction,
            _ if has(TurnStatus::InProgress) || has(TurnStatus::Queued) => {
                SessionStatus::InProgress
            }
            _ => SessionStatus::Idle,
        }
    }

    fn agent_number(&self) -> Option<u64> {
        match &self.created {
            Some(created) => created.agent,
            None => Some(self.luck % AGENTS),
        }
    }

    fn model(&self) -> String {
        match &self.created {
            Some(created) => created.model.clone(),
            None => MODELS[(self.luck % AGENTS) as usize].to_owned(),
        }
    }

    fn metadata(&self) -> Metadata {
        match (&self.metadata, &self.created) {
            (Some(metadata), _) => metadata.clone(),
            (None, Some(_)) => Metadata::new(),
            (None, None) => [("title".to_owned(), self.part.title(self.luck))].into(),
        }
    }

    /// The id of its environment.
    pub(super) fn environment_id(&self) -> String {
        ids::derived(Kind::Environment, &self.id, 1)
    }

    /// The resource.
    pub(super) fn session(&self, shared: &Shared) -> AgentSession {
        let turns = self.past_turns + self.scenes.len() as u64;
        AgentSession {
            id: self.id.to_string(),
            agent: SessionAgent {
                id: match self.agent_number() {
                    Some(number) => shared.agent_id(number),
                    None => ids::derived(Kind::Agent, &self.id, 0),
                },
                instructions: None,
                model: self.model(),
                multi_agent: MultiAgentConfig::default(),
                name: self
                    .agent_number()
                    .map(|number| NAMES[(number % AGENTS) as usize].to_owned()),
                reasoning: AgentReasoning::default(),
                service_tier: ServiceTier::default(),
                text: AgentText::default(),
                tools: Vec::new(),
                compaction: None,
                experimental: None,
                harness: None,
            },
            created_at: self.created_ms(shared) / 1000,
            environment: Environment::OpenaiHosted(HostedEnvironment {
                id: self.environment_id(),
                capability_directories: Vec::new(),
                files: Vec::new(),
                network: Network {
                    access: NetworkAccess::Disabled,
                    allowed_domains: Vec::new(),
                },
                packages: Packages::default(),
                plugins: Vec::new(),
                skills: Vec::new(),
                container_size: None,
                desktop: None,
            }),
            error: (self.part == Part::Failed).then(|| "the model did not answer".to_owned()),
            last_active_at: self.last_active_ms(shared) / 1000,
            metadata: self.metadata(),
            object: crate::api::SessionObject::Only,
            required_actions: self.required_actions(),
            status: self.status(),
            usage: Some(usage(turns)),
            vault_ids: Vec::new(),
            prompt_cache_options: None,
            review: None,
            spend_control: None,
        }
    }

    /// The id of the call in a Turn.
    pub(super) fn call_id(&self, turn: u64) -> String {
        format!("call_{:012x}", chance(&[self.luck, turn]) >> 16)
    }

    fn required_actions(&self) -> Vec<RequiredAction> {
        let mut actions = Vec::new();
        for (at, scene) in self.scenes.iter().enumerate() {
            let turn = self.past_turns + 1 + at as u64;
            let open = scene.items.iter().find_map(|seen| match &seen.says {
                super::items::Saying::Call { name, arguments } if seen.stage == Stage::Open => {
                    Some((*name, arguments.clone()))
                }
                _ => None,
            });
            let Some((name, arguments)) = open.filter(|_| scene.status == TurnStatus::Waiting)
            else {
                continue;
            };
            actions.push(self.required(turn, name, arguments));
        }
        actions
    }

    fn required(&self, turn: u64, name: &str, arguments: Value) -> RequiredAction {
        match self.part {
            Part::NeedsApproval => RequiredAction::McpApprovalRequest {
                request: McpToolCallRequest {
                    arguments,
                    message: "Publish three packages to the registry?".into(),
                    name: Some("publish".into()),
                    server_label: "packages".into(),
                },
                request_id: self.call_id(turn),
                turn_id: self.turn_id(turn),
            },
            _ => RequiredAction::FunctionCall {
                arguments,
                call_id: self.call_id(turn),
                name: name.to_owned(),
                turn_id: self.turn_id(turn),
            },
        }
    }

    /// How many Turns it has.
    pub(super) fn turns(&self) -> u64 {
        self.past_turns + self.scenes.len() as u64
    }

    /// The id of a Turn, from 1.
    pub(super) fn turn_id(&self, turn: u64) -> String {
        ids::derived(Kind::Turn, &self.id, turn)
    }

    /// A Turn, from 1.
    pub(super) fn turn(&self, shared: &Shared, turn: u64) -> Turn {
        let mut shown = Turn {
            id: self.turn_id(turn),
            agent_id: match self.agent_number() {
                Some(number) => shared.agent_id(number),
                None => ids::derived(Kind::Agent, &self.id, 0),
            },
            completed_at: None,
            created_at: 0,
            error: None,
            object: crate::api::TurnObject::Only,
            session_id: self.id.to_string(),
            started_at: None,
            status: TurnStatus::Completed,
            subagent_id: None,
            usage: Some(usage(1)),
            prompt_cache_options: None,
        };
        let behind = turn.checked_sub(self.past_turns + 1);
        match behind
            .and_then(|at| Some((self.plays.get(at as usize)?, self.scenes.get(at as usize)?)))
        {
            Some((play, scene)) => {
                shown.created_at = play.accepted_ms / 1000;
                shown.started_at = scene.started_ms.map(|ms| ms / 1000);
                shown.completed_at = scene.ended_ms.map(|ms| ms / 1000);
                shown.status = scene.status;
            }
            None => {
                let each_ms = APART_MS / self.past_turns.max(1);
                let start_ms = self.created_ms(shared) + (turn - 1) * each_ms;
                shown.created_at = start_ms / 1000;
                shown.started_at = Some(start_ms / 1000);
                shown.completed_at = Some((start_ms + each_ms * 4 / 5) / 1000);
                if self.part == Part::Failed && turn == self.past_turns {
                    shown.status = TurnStatus::Failed;
                    shown.error = Some(TurnError {
                        code: TurnErrorCode::ServerOverloaded,
                        message: "the model did not answer in 5 attempts".into(),
                    });
                }
            }
        }
        shown
    }

    /// How many Items it has.
    pub(super) fn items(&self) -> u64 {
        let now: usize = self
            .scenes
            .iter()
            .map(|scene| self.kept(scene).count())
            .sum();
        self.past_turns * ITEMS_PER_TURN + now as u64
    }

    /// Items that a list has: of what is being written only commands and calls are there before they are whole.
    fn kept<'a>(&self, scene: &'a super::Scene) -> impl Iterator<Item = &'a super::play::Seen> {
        scene.items.iter().filter(|seen| {
            let open = seen.stage == Stage::Open;
            !open || matches!(seen.says.kind(), Kind::Command | Kind::FunctionCall)
        })
    }

    /// The Item at a place in the order of the transcript.
    pub(super) fn item(&self, shared: &Shared, place: u64) -> Option<Item> {
        let behind = match place.checked_sub(self.past_turns * ITEMS_PER_TURN) {
            None => {
                let (turn, at) = (place / ITEMS_PER_TURN + 1, place % ITEMS_PER_TURN);
                let (says, took_ms) = past(shared.seed, self.number, self.part, turn, at);
                let id = ids::derived(says.kind(), &self.id, item_number(turn, at));
                let call = self.call_id(turn);
                return Some(says.item(id, self.turn_id(turn), &call, Stage::Done(took_ms)));
            }
            Some(behind) => behind,
        };
        let (turn, seen) = self.seen().nth(behind as usize)?;
        let id = ids::derived(seen.says.kind(), &self.id, item_number(turn, seen.number));
        let call = self.call_id(turn);
        Some(
            seen.says
                .clone()
                .item(id, self.turn_id(turn), &call, seen.stage),
        )
    }

    /// Items of Turns since the world began, with the numbers of the Turns.
    fn seen(&self) -> impl Iterator<Item = (u64, &super::play::Seen)> {
        let turns = self.past_turns + 1..;
        turns
            .zip(&self.scenes)
            .flat_map(|(turn, scene)| self.kept(scene).map(move |seen| (turn, seen)))
    }

    /// The place of the Item with this id.
    pub(super) fn place_of(&self, id: &str) -> Option<u64> {
        let kinds = [
            Kind::Message,
            Kind::Reasoning,
            Kind::Command,
            Kind::FunctionCall,
            Kind::FunctionOutput,
        ];
        let kind = kinds.iter().find(|kind| id.starts_with(kind.prefix()))?;
        let number = ids::number_of(*kind, &self.id, id)?;
        let (turn, at) = (number >> ITEM_BITS, number & ((1 << ITEM_BITS) - 1));
        if (1..=self.past_turns).contains(&turn) {
            return (at < ITEMS_PER_TURN).then_some((turn - 1) * ITEMS_PER_TURN + at);
        }
        let behind = self
            .seen()
            .position(|(of, seen)| of == turn && seen.number == at)?;
        Some(self.past_turns * ITEMS_PER_TURN + behind as u64)
    }

    /// Places of the Items of one Turn.
    pub(super) fn places_of(&self, turn: u64) -> std::ops::Range<u64> {
        if turn <= self.past_turns {
            return (turn - 1) * ITEMS_PER_TURN..turn * ITEMS_PER_TURN;
        }
        let first = self.seen().take_while(|(of, _)| *of < turn).count() as u64;
        let many = self.seen().filter(|(of, _)| *of == turn).count() as u64;
        let first = self.past_turns * ITEMS_PER_TURN + first;
        first..first + many
    }

    /// The Item that is being written: its id, what it says when it is whole, and the bytes that are written.
    pub(super) fn writing(&self) -> Option<(String, &super::play::Seen)> {
        let turns = self.past_turns + 1..;
        let open = turns.zip(&self.scenes).find_map(|(turn, scene)| {
            let seen = scene.items.iter().find(|seen| seen.stage == Stage::Open)?;
            Some((turn, seen))
        });
        let (turn, seen) = open?;
        let id = ids::derived(seen.says.kind(), &self.id, item_number(turn, seen.number));
        Some((id, seen))
    }
}

/// A saved Agent.
pub(super) fn agent(shared: &Shared, number: u64) -> Agent {
    let at = (number % AGENTS) as usize;
    Agent {
        id: shared.agent_id(number),
        created_at: shared.began_ms / 1000,
        instructions: Some(words::sentences(number, 2)),
        metadata: Metadata::new(),
        model: MODELS[at].to_owned(),
        multi_agent: MultiAgentConfig::default(),
        name: Some(NAMES[at].to_owned()),
        object: crate::api::AgentObject::Only,
        reasoning: AgentReasoning::default(),
        service_tier: ServiceTier::default(),
        text: AgentText::default(),
        tools: Vec::new(),
        updated_at: shared.began_ms / 1000,
        compaction: None,
        experimental: None,
        harness: None,
    }
}

fn usage(turns: u64) -> TokenUsage {
    TokenUsage {
        input_tokens: 4_200 * turns,
        output_tokens: 310 * turns,
        total_tokens: 4_510 * turns,
        ..TokenUsage::default()
    }
}
