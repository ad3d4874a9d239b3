//! What the model asked for in one conversation with a process, and how far each call is. Pure.

/// How far a call is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// The model asked for it; nothing happened.
    Asked,
    /// It is recorded as begun.
    Begun,
    /// It is over, or nothing that the harness has to follow.
    Over,
}

/// One call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// As Codex knows it.
    pub id: String,
    /// As it is recorded: unique in the Session.
    pub recorded: String,
    /// The tool.
    pub name: String,
    /// As the model wrote them.
    pub arguments: String,
    /// How far it is.
    pub stage: Stage,
}

/// The calls, in the order in which the model made them.
#[derive(Debug, Default)]
pub struct Calls(Vec<Call>);

impl Calls {
    /// The model made a call.
    pub fn add(&mut self, call: Call) {
        self.0.push(call);
    }

    /// The ids of all of them, as Codex knows them.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|call| call.id.as_str())
    }

    /// The newest call of this id.
    pub fn of(&self, id: &str) -> Option<&Call> {
        self.0.iter().rev().find(|call| call.id == id)
    }

    /// The call that is recorded under this id.
    pub fn recorded(&self, recorded: &str) -> Option<&Call> {
        self.0.iter().find(|call| call.recorded == recorded)
    }

    /// The oldest call of this tool that is not over.
    pub fn open_of_tool(&self, name: &str) -> Option<&Call> {
        let mut open = self.0.iter().filter(|call| call.stage != Stage::Over);
        open.find(|call| call.name == name)
    }

    /// The call that is begun and not over. There is one at most.
    pub fn begun(&self) -> Option<&Call> {
        self.0.iter().find(|call| call.stage == Stage::Begun)
    }

    /// A call moved on.
    pub fn set(&mut self, recorded: &str, stage: Stage) {
        let call = self.0.iter_mut().find(|call| call.recorded == recorded);
        if let Some(call) = call {
            call.stage = stage;
        }
    }
}
