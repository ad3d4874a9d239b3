//! Records that only an operator sees, as lists and as pages: Runs, deliveries, what is owed; an environment, and whether all is in order. Pure.

use super::msg::Effect;
use super::reader::Reader;
use super::reading::ReadAsk;
use super::rows::Rows;
use super::state::State;
use super::times::Times;
use super::transcript::Role;
use super::window::Where;
use crate::api::{AgentSession, Environment};
use crate::engine::ports::{
    DeliveryRead, EnvironmentRead, OwedRead, RunPhase, RunRead, WorkspaceFiles,
};
use crate::text::{ago, count, size};

/// A page is read again after so long.
const REFRESH_MS: u64 = 2_000;

/// Runs of a Session, newest first.
#[derive(Clone, Debug)]
pub struct Runs {
    /// The Session.
    pub session: String,
    /// The rows.
    pub rows: Rows<RunRead>,
}

/// Deliveries of a Session.
#[derive(Clone, Debug)]
pub struct Deliveries {
    /// The Session.
    pub session: String,
    /// The rows.
    pub rows: Rows<DeliveryRead>,
}

/// What all Sessions owe, soonest first.
#[derive(Clone, Debug, Default)]
pub struct Owed {
    /// The Session from which it was opened.
    pub session: Option<String>,
    /// The rows.
    pub rows: Rows<OwedRead>,
}

impl Runs {
    /// A list that nothing was read for yet.
    pub fn new(session: String) -> Runs {
        Runs {
            session,
            rows: Rows::default(),
        }
    }

    /// Asks for rows.
    pub fn read(&mut self, state: &mut State, at: Where) -> Effect {
        let session = self.session.clone();
        let ask = ReadAsk::Runs {
            session,
            at: at.clone(),
        };
        let (ticket, effect) = state.reading(ask);
        self.rows.asked(at, ticket, state.now_ms);
        effect
    }
}

impl Deliveries {
    /// A list that nothing was read for yet.
    pub fn new(session: String) -> Deliveries {
        Deliveries {
            session,
            rows: Rows::default(),
        }
    }

    /// Asks for rows.
    pub fn read(&mut self, state: &mut State, at: Where) -> Effect {
        let session = self.session.clone();
        let ask = ReadAsk::Deliveries {
            session,
            at: at.clone(),
        };
        let (ticket, effect) = state.reading(ask);
        self.rows.asked(at, ticket, state.now_ms);
        effect
    }
}

impl Owed {
    /// Asks for rows; all of them are read at once.
    pub fn read(&mut self, state: &mut State) -> Effect {
        let (ticket, effect) = state.reading(ReadAsk::Owed);
        self.rows.asked(Where::Start, ticket, state.now_ms);
        effect
    }
}

/// The word and the look of where a Run is.
pub fn run_word(run: &RunRead) -> (&str, Role) {
    match run.state {
        RunPhase::Live => ("live", Role::Agent),
        RunPhase::Quarantined => ("quarantined", Role::Warn),
        RunPhase::Ended => (run.end.as_deref().unwrap_or("ended"), Role::Dim),
    }
}

/// The word and the look of a Run's process.
pub fn process_word(run: &RunRead) -> (&'static str, Role) {
    match run.process_alive {
        Some(true) => ("alive", Role::Agent),
        Some(false) => ("gone", Role::Dim),
        None => ("unknown", Role::Warn),
    }
}

/// What there is to know of a Run, a name and a value each.
pub fn run_facts(run: &RunRead, times: &Times) -> Vec<(&'static str, String)> {
    let mut facts = vec![
        ("run", run.id.clone()),
        ("state", run_word(run).0.to_owned()),
        ("generation", run.generation.to_string()),
        ("turn", run.turn_id.clone()),
        ("execution", run.execution.clone()),
        ("process", process_word(run).0.to_owned()),
        ("started", times.full(run.started_ms)),
    ];
    if let Some(ended_ms) = run.ended_ms {
        facts.push(("ended", times.full(ended_ms)));
    }
    let may = match run.state {
        RunPhase::Live => "this one may write, and no other",
        RunPhase::Quarantined => {
            "it is fenced: nothing of it is seen any more, and no other begins before it is proven gone or released"
        }
        RunPhase::Ended => "it is fenced: nothing of it is seen any more",
    };
    facts.push(("fence", may.to_owned()));
    if let Some(until_ms) = run.lease_until_ms {
        facts.push(("lease until", times.full(until_ms)));
    }
    if let Some(since_ms) = run.quarantined_ms {
        facts.push(("since", times.full(since_ms)));
    }
    facts
}

/// What there is to know of a delivery, a name and a value each.
pub fn delivery_facts(delivery: &DeliveryRead, times: &Times) -> Vec<(&'static str, String)> {
    let row = &delivery.row;
    let mut facts = vec![
        ("delivery", delivery.id.clone()),
        ("state", row.state.to_string()),
        ("to", row.destination.clone()),
        ("tells", row.event.clone()),
        ("attempts", row.attempts.to_string()),
        ("owed since", times.full(row.created_ms)),
        ("so since", times.full(row.changed_ms)),
    ];
    if row.state.is_owed() {
        facts.push(("due", times.full(row.due_ms)));
    }
    if let Some(answer) = &row.answer {
        facts.push(("last answer", answer.clone()));
    }
    facts
}

/// What a page is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum About {
    /// The environment of a Session.
    Environment(String),
    /// The files of the environment of a Session.
    Files(String),
    /// Whether all is in order where the Sessions live.
    Health,
    /// Why a Session does or does not move.
    Explain(String),
}

/// A page of words that is read as a whole.
#[derive(Clone, Debug)]
pub struct Report {
    /// What it is about.
    pub about: About,
    /// The answer to which request is wanted.
    pub ticket: u64,
    /// The words.
    pub reader: Reader,
    /// What each line is.
    pub roles: Vec<Role>,
    /// Something was read.
    pub loaded: bool,
    /// Why the last reading failed, and since when none worked.
    pub problem: Option<(String, u64)>,
    reading: bool,
    read_ms: u64,
}

impl Report {
    /// A page that nothing was read for yet.
    pub fn new(about: About) -> Report {
        Report {
            about,
            ticket: 0,
            reader: Reader::default(),
            roles: Vec::new(),
            loaded: false,
            problem: None,
            reading: false,
            read_ms: 0,
        }
    }

    /// Asks for it.
    pub fn read(&mut self, state: &mut State) -> Effect {
        let ask = match &self.about {
            About::Environment(session) => ReadAsk::Environment {
                session: session.clone(),
            },
            About::Files(session) => ReadAsk::Files {
                session: session.clone(),
            },
            About::Health => ReadAsk::Health,
            About::Explain(session) => ReadAsk::Explain {
                session: session.clone(),
            },
        };
        let (ticket, effect) = state.reading(ask);
        (self.ticket, self.reading, self.read_ms) = (ticket, true, state.now_ms);
        effect
    }

    /// Whether it is time to ask again. Looking whether all is in order costs something, so that a person asks for it.
    pub fn is_due(&self, now_ms: u64, newest: u64) -> bool {
        let waited_ms = now_ms.saturating_sub(self.read_ms);
        let is_read = self.reading && self.ticket == newest;
        self.about != About::Health && !is_read && waited_ms >= REFRESH_MS
    }

    /// Takes in the words.
    pub fn take(&mut self, result: Result<Vec<(Role, String)>, String>, now_ms: u64) {
        self.reading = false;
        let lines = match result {
            Ok(lines) => lines,
            Err(why) => {
                let since = self.problem.take().map_or(now_ms, |(_, since)| since);
                self.problem = Some((why, since));
                return;
            }
        };
        (self.loaded, self.problem) = (true, None);
        let mut text = String::new();
        self.roles.clear();
        for (role, words) in lines {
            for line in words.split('\n') {
                text.push_str(line);
                text.push('\n');
                self.roles.push(role);
            }
        }
        self.reader.renew(text);
    }
}

/// An environment in words.
pub fn environment_lines(
    session: &AgentSession,
    read: &EnvironmentRead,
    now_ms: u64,
) -> Vec<(Role, String)> {
    let mut lines = Vec::new();
    let mut fact = |name: &str, value: &str| {
        lines.push((Role::Text, format!("{name:<16}{value}")));
    };
    match &session.environment {
        Environment::None => fact("environment", "none: the agent has no shell"),
        Environment::SelfHosted(own) => {
            fact("environment", &own.id);
            fact("kind", "a machine of the client");
            fact("workspace", &own.workspace_directory);
        }
        Environment::OpenaiHosted(managed) => {
            fact("environment", &managed.id);
            fact("kind", "managed: a sandbox with a workspace");
            let hosts = &managed.network.allowed_domains;
            let access = managed.network.access.to_string();
            match hosts.is_empty() {
                true => fact("network", &access),
                false => fact("network", &format!("{access}: {}", hosts.join(", "))),
            }
            for (manager, packages) in [
                ("npm", &managed.packages.npm),
                ("python", &managed.packages.python),
                ("system", &managed.packages.system),
            ] {
                if !packages.is_empty() {
                    fact(&format!("{manager} packages"), &packages.join(", "));
                }
            }
            if !managed.files.is_empty() {
                fact("files put there", &managed.files.len().to_string());
            }
        }
    }
    if session.environment != Environment::None {
        let state = read.status.map(|status| status.to_string());
        let not_yet = "not made yet: it is, before the first command runs";
        fact("state", state.as_deref().unwrap_or(not_yet));
        if let Some((at_ms, why)) = &read.expiry {
            fact("expired", &format!("{}: {why}", ago(*at_ms, now_ms)));
        }
        fact("resets", &read.resets.to_string());
    }
    match read.lease {
        Some((generation, until_ms)) => {
            let until = ago(until_ms, now_ms);
            fact(
                "worker",
                &format!("generation {generation}, lease until {until}"),
            );
        }
        None => fact("worker", "none"),
    }
    fact("inputs waiting", &read.pending_inputs.to_string());
    if session.environment != Environment::None {
        lines.push((Role::Text, String::new()));
        let words = match read.resets {
            0 => "Its files were never lost.",
            _ => {
                "A reset means that files and processes were lost; the transcript and published Artifacts were not."
            }
        };
        lines.push((Role::Dim, words.to_owned()));
        if read.expiry.is_some() {
            let words =
                "It is over for good: the Session takes no more messages, and stays readable.";
            lines.push((Role::Dim, words.to_owned()));
        } else if matches!(session.environment, Environment::OpenaiHosted(_)) {
            lines.push((Role::Dim, "f shows its files.".to_owned()));
        }
    }
    lines
}

/// Files of a workspace in words.
pub fn files_lines(files: Option<&WorkspaceFiles>) -> Vec<(Role, String)> {
    let Some(found) = files else {
        let words = "this Session has no workspace here".to_owned();
        return vec![(Role::Dim, words)];
    };
    let all = found.files.iter();
    let mut lines: Vec<(Role, String)> = all
        .map(|file| {
            (
                Role::Text,
                format!("{:>10}  {}", size(file.size_bytes), file.path),
            )
        })
        .collect();
    let end = match (lines.len(), found.more) {
        (0, _) => "no files".to_owned(),
        (n, true) => format!("the first {}; there are more", count(n as u64)),
        (n, false) => format!("{} in all", count(n as u64)),
    };
    lines.push((Role::Dim, end));
    lines
}

/// How one check went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// What was looked at.
    pub name: String,
    /// How it looks.
    pub verdict: Verdict,
    /// What was found.
    pub found: String,
    /// What to do about it, one step each.
    pub fixes: Vec<String>,
}

/// How a check went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Fine.
    Ok,
    /// It works, and somebody should know about it.
    Warning,
    /// Something will not work.
    Failed,
}

/// Checks in words.
pub fn health_lines(checks: &[Check]) -> Vec<(Role, String)> {
    let mut lines = Vec::new();
    for check in checks {
        let (word, role) = match check.verdict {
            Verdict::Ok => ("ok", Role::Good),
            Verdict::Warning => ("warning", Role::Warn),
            Verdict::Failed => ("failed", Role::Bad),
        };
        let found = check.found.replace('\n', " ");
        lines.push((role, format!("{word:<8}{:<16}{found}", check.name)));
        let fixes = check.fixes.iter();
        lines.extend(fixes.map(|fix| (Role::Text, format!("{:<8}{:<16}-> {fix}", "", ""))));
    }
    lines
}
