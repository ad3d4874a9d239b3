//! What is known about a Session that may not be moving: read once, then only looked at.

use crate::api::{RequiredAction, SessionStatus, TurnStatus};
use crate::cli::compose::{self, Local};
use crate::cli::daemon::{self, Note};
use crate::cli::out::CliError;
use crate::cli::{Context, show};
use crate::engine::fence::{BeganAnew, RunRow};
use crate::engine::input::InputRow;
use crate::engine::keys;
use crate::engine::operating::process_of;
use crate::engine::read::SessionRead;
use crate::engine::session::Head;
use crate::engine::turn::TurnRow;

/// A process somewhere, and whether it exists; `None`: that can't be told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Worker {
    /// Name of the execution.
    pub execution: String,
    /// Whether its process exists.
    pub alive: Option<bool>,
}

impl Worker {
    fn of(execution: &str) -> Worker {
        Worker {
            execution: execution.to_owned(),
            alive: compose::is_alive(process_of(execution)),
        }
    }
}

/// A worker as a person would look for it.
pub(super) fn name(worker: Option<&Worker>) -> String {
    let Some(worker) = worker else {
        return "its worker".to_owned();
    };
    match worker
        .execution
        .split(':')
        .nth(1)
        .filter(|pid| pid.bytes().all(|b| b.is_ascii_digit()))
    {
        Some(pid) => format!("its worker (process {pid})"),
        None => format!("its worker {}", worker.execution),
    }
}

/// Whether a daemon looks after the Session.
pub enum Attendance {
    /// One runs here.
    Here(Note),
    /// None runs, and nowhere else could one run.
    Nobody,
    /// None runs here, and those of other machines can't be seen from here: they need no leader, and know nothing of one another.
    Unseen,
}

impl Attendance {
    fn of(context: &Context, local: &Local) -> Attendance {
        match daemon::serving(&context.settings, &local.places) {
            Some(note) => Attendance::Here(note),
            None if context.settings.aws.is_some() => Attendance::Unseen,
            None => Attendance::Nobody,
        }
    }

    /// What the daemon that runs here says of itself.
    pub(super) fn note(&self) -> Option<&Note> {
        match self {
            Attendance::Here(note) => Some(note),
            Attendance::Nobody | Attendance::Unseen => None,
        }
    }
}

/// A function call that a client answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// The model's call id.
    pub id: String,
    /// The function.
    pub name: String,
    /// Its arguments as JSON.
    pub arguments: String,
}

/// An accepted message that no agent has yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// Its number.
    pub input: u64,
    /// The Turn it goes to.
    pub turn: u64,
    /// A Run has it, and has not confirmed it.
    pub in_hand: bool,
    /// Accepted at. Unix ms.
    pub accepted_ms: u64,
}

/// See the module.
pub struct Facts {
    /// Which Session.
    pub session: crate::engine::ids::SessionId,
    /// Its title, if it has one.
    pub title: Option<String>,
    /// When this was gathered. Unix ms.
    pub now_ms: u64,
    /// Its head.
    pub head: Head,
    /// The Turn at the front, else the last one.
    pub turn: Option<(u64, TurnRow)>,
    /// Calls that a client answers.
    pub calls: Vec<Call>,
    /// Messages that no agent has yet.
    pub waiting: Vec<Waiting>,
    /// Holder of the lease.
    pub owner: Option<Worker>,
    /// Who is missed.
    pub missing: Option<Worker>,
    /// Who would look after it.
    pub daemon: Attendance,
    /// Lost workers that a Turn survives.
    pub turn_attempts: u32,
    /// Turns that run at once, at most.
    pub room: usize,
    /// That the agent began anew, as the last Run tells.
    pub began_anew: Option<BeganAnew>,
}

impl Facts {
    /// Reads what there is.
    pub(super) async fn gather(
        context: &Context,
        local: &Local,
        read: &SessionRead,
    ) -> Result<Facts, CliError> {
        let head = read.head.clone();
        let number = match &head.turn {
            Some(turn) => turn.number,
            None => head.next.turn - 1,
        };
        let turn = match number {
            0 => None,
            number => Some((number, local.core.get_turn(read, number).await?.1)),
        };
        let resource = local.core.get_session(&local.owner, &read.id).await?;
        let calls = resource.required_actions.iter().filter_map(|action| {
            let RequiredAction::FunctionCall {
                call_id,
                name,
                arguments,
                ..
            } = action
            else {
                return None;
            };
            Some(Call {
                id: call_id.clone(),
                name: name.clone(),
                arguments: arguments.to_string(),
            })
        });
        let inputs: Vec<InputRow> = local
            .core
            .rows(&read.id, head.pending.iter().map(|p| keys::input(p.input)))
            .await?;
        let waiting = head.pending.iter().zip(&inputs).map(|(p, row)| Waiting {
            input: p.input,
            turn: p.turn,
            in_hand: p.claimed > 0,
            accepted_ms: row.accepted_ms,
        });
        let run = keys::run(head.fence.generation);
        let run = local.core.row::<RunRow>(&read.id, run).await?;
        let settings = &context.settings;
        Ok(Facts {
            session: read.id.clone(),
            title: show::title_text(&resource).map(str::to_owned),
            now_ms: compose::now_ms(),
            turn,
            calls: calls.collect(),
            waiting: waiting.collect(),
            owner: head
                .fence
                .lease
                .as_ref()
                .map(|l| Worker::of(&l.execution.0)),
            missing: head
                .fence
                .quarantine
                .as_ref()
                .map(|q| Worker::of(&q.execution.0)),
            daemon: Attendance::of(context, local),
            turn_attempts: settings.limits.turn_attempts,
            room: settings.daemon.workers * settings.daemon.runs_per_worker,
            began_anew: run.and_then(|run| run.began_anew),
            head,
        })
    }

    pub(super) fn status(&self) -> SessionStatus {
        self.head.status()
    }

    /// The last Turn, if it is over and nothing else is going on.
    pub(super) fn last_ended(&self) -> Option<(u64, TurnStatus, Option<String>)> {
        let (number, row) = self.turn.as_ref().filter(|_| self.head.turn.is_none())?;
        let error = row
            .error
            .as_ref()
            .filter(|_| row.status == TurnStatus::Failed)
            .map(|error| format!("{}: {}", error.code, error.message));
        Some((*number, row.status, error))
    }
}
