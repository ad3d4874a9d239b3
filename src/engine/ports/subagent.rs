//! Subagents, as a harness tells of them: agents that the Turn's agent started, and what they and it do to one another.

use super::harness::Observation;

/// What became of a subagent, or what it did.
#[derive(Clone, Debug, PartialEq)]
pub enum SubagentNews {
    /// It was started. It comes before everything else of it.
    Opened {
        /// Who started it, by the harness's name; `None`: the Turn's own agent.
        parent: Option<String>,
        /// For people.
        name: Option<String>,
        /// What it is told first.
        instructions: Option<String>,
    },
    /// It was closed, and can be given work again.
    Reopened,
    /// A Turn of its own begins.
    Began,
    /// Another agent told it something.
    Told {
        /// Who, by the harness's name; `None`: the Turn's own agent.
        from: Option<String>,
        /// In its words.
        text: String,
    },
    /// It did something, as the Turn's own agent does: [`Observation::Message`], [`Observation::Reasoning`], [`Observation::ToolEnded`] and
    /// [`Observation::ModelCall`]. It has no functions to call, and takes no inputs.
    Did(Box<Observation>),
    /// Its Turn is over.
    Ended(SubagentEnd),
    /// It is over, with its Turn if one goes on.
    Closed,
}

/// How a Turn of a subagent ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SubagentEnd {
    /// It is done.
    Completed,
    /// It could not go on.
    Failed {
        /// One of the Agents API's turn error codes.
        code: String,
        /// In words.
        message: String,
    },
    /// It was interrupted.
    Interrupted,
}

/// What a call does to other agents, which are named as the agent named them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Delegates {
    /// It starts one.
    Create {
        /// What that is told.
        text: String,
        /// The model that was asked for, if one was.
        model: Option<String>,
        /// The effort that was asked for, if any was.
        effort: Option<String>,
    },
    /// It tells one something.
    Send {
        /// Which one.
        to: String,
        /// What it is told.
        text: String,
    },
    /// It has one go on that was closed.
    Resume {
        /// Which one.
        to: String,
    },
    /// It waits for some.
    Wait {
        /// Which ones.
        to: Vec<String>,
    },
    /// It interrupts one.
    Interrupt {
        /// Which one.
        to: String,
    },
    /// It closes one.
    Close {
        /// Which one.
        to: String,
    },
}
