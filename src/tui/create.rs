//! The form of a Session that is about to be created, and the question before it is. Pure.
//!
//! The request keeps its key until it is known to be accepted or is another one: creating it again after a doubt can't create two.

use super::action::{Action, Place};
use super::composer::Tone;
use super::field::Field;
use super::msg::Trouble;
use crate::api::{
    self, Agent, AgentSession, EnvironmentParam, Metadata, SessionAgentParams, SessionCreateParams,
    SessionInput,
};

/// A field of the form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The first message.
    Message,
    /// A title for lists.
    Title,
    /// A saved Agent.
    Agent,
    /// The model.
    Model,
    /// Where commands run.
    Environment,
}

impl Part {
    /// All of them, in order.
    pub const ALL: [Part; 5] = [
        Part::Message,
        Part::Title,
        Part::Agent,
        Part::Model,
        Part::Environment,
    ];

    /// What a person calls it.
    pub fn name(self) -> &'static str {
        match self {
            Part::Message => "message",
            Part::Title => "title",
            Part::Agent => "agent",
            Part::Model => "model",
            Part::Environment => "commands",
        }
    }
}

/// Saved Agents, as far as they are known.
#[derive(Clone, Debug, PartialEq)]
pub enum Agents {
    /// They are being read.
    Reading,
    /// These, and whether there are more.
    Known(Vec<Agent>, bool),
    /// Why they are not known.
    Unknown(String),
}

/// See the module.
#[derive(Clone, Debug)]
pub struct Create {
    /// The field that keys go to.
    pub part: Part,
    /// The first message.
    pub message: Field,
    /// The title.
    pub title: Field,
    /// The model.
    pub model: Field,
    /// The model that the profile names, for a Session without a saved Agent.
    pub default_model: Option<String>,
    /// Saved Agents to choose from.
    pub agents: Agents,
    /// The chosen one: its id, and what a person calls it.
    pub agent: Option<(String, String)>,
    /// Commands run in a sandbox of its own.
    pub managed: bool,
    /// Whether it shall be created is asked.
    pub asked: bool,
    /// The key under which it is being created.
    pub sending: Option<String>,
    /// What there is to say about the request.
    pub says: Option<(Tone, String)>,
    /// The answer to which request is wanted for [`Create::agents`].
    pub ticket: u64,
    doubtful: Option<(String, SessionCreateParams)>,
    sent: Option<SessionCreateParams>,
}

/// What a key led to.
#[derive(Clone, Debug, PartialEq)]
pub enum Then {
    /// The form stays.
    Stay,
    /// It is left, and kept.
    Leave,
    /// The message is to be written in an editor.
    Edit,
    /// This is to be created.
    Send(Box<SessionCreateParams>),
}

impl Create {
    /// An empty form.
    pub fn new(default_model: Option<String>) -> Create {
        Create {
            part: Part::Message,
            message: Field::default(),
            title: Field::default(),
            model: Field::default(),
            default_model,
            agents: Agents::Reading,
            agent: None,
            managed: true,
            asked: false,
            sending: None,
            says: None,
            ticket: 0,
            doubtful: None,
            sent: None,
        }
    }

    /// Where keys go.
    pub fn place(&self) -> Place {
        match self.asked {
            true => Place::Confirm,
            false => Place::Create,
        }
    }

    /// The text that is typed now.
    fn field(&mut self) -> Option<&mut Field> {
        match self.part {
            _ if self.asked || self.sending.is_some() => None,
            Part::Message => Some(&mut self.message),
            Part::Title => Some(&mut self.title),
            Part::Model => Some(&mut self.model),
            Part::Agent | Part::Environment => None,
        }
    }

    /// Takes in text that was typed or pasted. `false`: it would be too long.
    pub fn insert(&mut self, text: &str) -> bool {
        let one_line = self.part != Part::Message;
        let Some(field) = self.field() else {
            return true;
        };
        match one_line {
            true => field.insert(&text.replace(['\n', '\r'], " ")),
            false => field.insert(text),
        }
    }

    /// Whether anything was written that would be a pity to lose.
    pub fn is_written(&self) -> bool {
        !self.message.text().trim().is_empty() || self.sending.is_some()
    }

    /// What a key leads to.
    pub fn act(&mut self, action: Action) -> Then {
        if self.sending.is_some() {
            return match action {
                Action::Back => Then::Leave,
                _ => Then::Stay,
            };
        }
        if self.asked {
            match action {
                Action::CreateSession => match self.params() {
                    Ok(params) => return Then::Send(Box::new(params)),
                    Err(why) => (self.asked, self.says) = (false, Some((Tone::Bad, why))),
                },
                Action::Back => self.asked = false,
                _ => {}
            }
            return Then::Stay;
        }
        match action {
            Action::Back => return Then::Leave,
            Action::Editor => return Then::Edit,
            Action::Next => self.go(1),
            Action::Previous => self.go(Part::ALL.len() - 1),
            Action::Cycle => self.cycle(true),
            Action::Accept => match self.params() {
                Ok(_) => (self.asked, self.says) = (true, None),
                Err(why) => self.says = Some((Tone::Bad, why)),
            },
            Action::Left | Action::Right
                if matches!(self.part, Part::Agent | Part::Environment) =>
            {
                self.cycle(action == Action::Right);
            }
            Action::Newline if self.part != Part::Message => {}
            action => {
                if let Some(field) = self.field() {
                    field.edit(action);
                }
            }
        }
        Then::Stay
    }

    fn go(&mut self, by: usize) {
        let at = Part::ALL.iter().position(|part| *part == self.part);
        self.part = Part::ALL[(at.unwrap_or(0) + by) % Part::ALL.len()];
    }

    /// The next choice of the field (or the one before), if it is one that has some.
    fn cycle(&mut self, on: bool) {
        match (self.part, &self.agents) {
            (Part::Environment, _) => self.managed = !self.managed,
            (Part::Agent, Agents::Known(agents, _)) => {
                let is_it =
                    |agent: &Agent| self.agent.as_ref().is_some_and(|(id, _)| agent.id == *id);
                // No Agent is the choice before the first.
                let at = agents.iter().position(is_it).map_or(0, |at| at + 1);
                let all = agents.len() + 1;
                let at = (at + if on { 1 } else { all - 1 }) % all;
                let agent = at.checked_sub(1).and_then(|at| agents.get(at));
                self.agent = agent.map(|agent| {
                    let name = agent.name.clone().unwrap_or_default();
                    (agent.id.clone(), format!("{name}  {}", agent.model))
                });
            }
            _ => {}
        }
    }

    /// The request, by the rules of one on the wire.
    ///
    /// # Errors
    /// In words: what is missing or not allowed.
    pub fn params(&self) -> Result<SessionCreateParams, String> {
        let given = |field: &Field| {
            let text = field.text().trim();
            (!text.is_empty()).then(|| text.to_owned())
        };
        // Beside a saved Agent, a model is one that somebody chose instead of the Agent's.
        let default = || self.default_model.clone().filter(|_| self.agent.is_none());
        let model = given(&self.model).or_else(default);
        if model.is_none() && self.agent.is_none() {
            return Err("name a model, or choose a saved Agent".to_owned());
        }
        let metadata: Metadata = given(&self.title)
            .map(|title| ("title".to_owned(), title))
            .into_iter()
            .collect();
        let params = SessionCreateParams {
            environment: match self.managed {
                true => EnvironmentParam::OpenaiHosted(Box::default()),
                false => EnvironmentParam::None,
            },
            agent: model.map(|model| SessionAgentParams {
                model: Some(model),
                ..SessionAgentParams::default()
            }),
            agent_id: self.agent.as_ref().map(|(id, _)| id.clone()),
            input: given(&self.message)
                .map(|_| SessionInput::Text(self.message.text().trim_end().to_owned())),
            metadata: (!metadata.is_empty()).then_some(metadata),
            prompt_cache_options: None,
            review: None,
            spend_control: None,
            stream: None,
            stream_options: None,
            vault_ids: None,
        };
        api::limits::check_session_create(&params).map_err(|error| error.message)?;
        Ok(params)
    }

    /// The key under which this is created: that of the last attempt if it is the same request again.
    pub fn send(&mut self, params: &SessionCreateParams, spare_key: &str) -> String {
        let same = self.doubtful.take().filter(|(_, of)| of == params);
        let key = same.map_or_else(|| spare_key.to_owned(), |(key, _)| key);
        (self.sending, self.sent) = (Some(key.clone()), Some(params.clone()));
        self.says = Some((Tone::Plain, "creating".to_owned()));
        key
    }

    /// Takes in what became of it. `true`: the Session is there, and the form is over.
    pub fn created(&mut self, result: &Result<Box<AgentSession>, Trouble>) -> bool {
        let (Some(key), Some(sent)) = (self.sending.take(), self.sent.take()) else {
            return false;
        };
        self.asked = false;
        let trouble = match result {
            Ok(_) => return true,
            Err(trouble) => trouble,
        };
        self.says = Some(match trouble.unknown {
            true => (
                Tone::Warn,
                format!(
                    "not known whether it was created ({}); creating it again can't create two",
                    trouble.words
                ),
            ),
            false => (Tone::Bad, format!("not created: {}", trouble.words)),
        });
        self.doubtful = trouble.unknown.then_some((key, sent));
        false
    }
}
