//! When, and what is killed.

/// A moment of the Turn: the model speaks, runs a command, and is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Moment {
    /// The process is there, and the model was not asked.
    Starting,
    /// The model was asked and says nothing yet.
    Asked,
    /// The model writes a message.
    Writing,
    /// A message is complete, the answer is not.
    Written,
    /// The model has called the command, its answer is not complete.
    Called,
    /// The command runs.
    Running,
    /// The command has done what it does.
    Ended,
    /// The model was told how the command ended.
    AskedAgain,
    /// The last message is complete, the answer is not.
    LastWritten,
    /// A patch is being written: some of its files are there.
    Patching,
    /// An MCP server works on a call.
    ServerCalled,
    /// The server has written its answer.
    ServerAnswered,
    /// The model was told that the command goes on in the background.
    Yielded,
    /// A message came while the command runs; Codex has it, and its agent has not.
    Steered,
    /// The agent took that message: the model was given it.
    SteerTaken,
    /// A function call waits for its answer.
    Waiting,
    /// The model was told the function's answer.
    Answered,
    /// The Turn is over.
    Over,
    /// After so many milliseconds, whatever happens then.
    At(u16),
}

impl Moment {
    /// All but the random ones.
    pub const ALL: [Moment; 18] = [
        Moment::Starting,
        Moment::Asked,
        Moment::Writing,
        Moment::Written,
        Moment::Called,
        Moment::Running,
        Moment::Ended,
        Moment::AskedAgain,
        Moment::LastWritten,
        Moment::Patching,
        Moment::ServerCalled,
        Moment::ServerAnswered,
        Moment::Yielded,
        Moment::Steered,
        Moment::SteerTaken,
        Moment::Waiting,
        Moment::Answered,
        Moment::Over,
    ];

    /// What can be killed then: while nothing is going on, there is no Codex and no Run.
    pub fn targets(self) -> &'static [Target] {
        match self {
            Moment::Waiting | Moment::Over => &[Target::Everything],
            Moment::Starting
            | Moment::Asked
            | Moment::Writing
            | Moment::Written
            | Moment::Called
            | Moment::Running
            | Moment::Ended
            | Moment::AskedAgain
            | Moment::LastWritten
            | Moment::Patching
            | Moment::ServerCalled
            | Moment::ServerAnswered
            | Moment::Yielded
            | Moment::Steered
            | Moment::SteerTaken
            | Moment::Answered
            | Moment::At(_) => &[Target::Codex, Target::Worker],
        }
    }

    /// Whether the Turn has a function call.
    pub fn has_function(self) -> bool {
        matches!(self, Moment::Waiting | Moment::Answered)
    }

    /// Whether a call of an MCP server takes the command's place.
    pub fn has_server(self) -> bool {
        matches!(self, Moment::ServerCalled | Moment::ServerAnswered)
    }

    /// Whether a message comes while the Turn works.
    pub fn has_steer(self) -> bool {
        matches!(self, Moment::Steered | Moment::SteerTaken)
    }

    /// Whether the command, or the server, goes on until a file is there.
    pub fn is_held(self) -> bool {
        let is_held = matches!(
            self,
            Moment::Running | Moment::Yielded | Moment::ServerCalled
        );
        is_held || self.has_steer()
    }

    /// In the table.
    pub fn words(self) -> &'static str {
        match self {
            Moment::Starting => "Codex starts",
            Moment::Asked => "the model was asked",
            Moment::Writing => "the model writes",
            Moment::Written => "a message is complete",
            Moment::Called => "a command is called",
            Moment::Running => "a command runs",
            Moment::Ended => "a command has just ended",
            Moment::AskedAgain => "the model was told its output",
            Moment::LastWritten => "the last message is complete",
            Moment::Patching => "a patch is being written",
            Moment::ServerCalled => "an MCP tool is called",
            Moment::ServerAnswered => "an MCP call has just ended",
            Moment::Yielded => "a command runs in the background",
            Moment::Steered => "a message came, not taken yet",
            Moment::SteerTaken => "that message was taken",
            Moment::Waiting => "a function call waits",
            Moment::Answered => "the model was told its answer",
            Moment::Over => "between two Turns",
            Moment::At(_) => "at random",
        }
    }
}

/// What is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Target {
    /// The app-server alone.
    Codex,
    /// The worker; its Codex goes with it.
    Worker,
    /// Daemon, worker and Codex at once.
    Everything,
}

impl Target {
    /// In the table.
    pub fn words(self) -> &'static str {
        match self {
            Target::Codex => "Codex",
            Target::Worker => "worker",
            Target::Everything => "everything",
        }
    }
}
