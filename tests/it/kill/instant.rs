//! One round of the main kill test: a Turn of ten commands, a steer and a queued message, and a kill at a random instant.

use std::time::{Duration, Instant};

use rat_things::api::TurnStatus;
use rat_things::backend::local::process::ProcessIdentity;
use rat_things::engine::session::Head;

use super::dice::Dice;
use super::processes::{Process, Role};
use super::rat::Rat;
use super::records::{Records, owes_nothing};
use super::verdict;

/// Commands of the Turn.
pub const COMMANDS: usize = 10;
/// Commits of an undisturbed Turn of ten commands: accepted, claimed, one for each command, ended.
const REVISIONS: u64 = 13;
/// Longest pause of one command, and longest delay between an instant's commit and its kill.
const PAUSE_MS: u64 = 60;

/// Whom the kill is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    Worker,
    Daemon,
    Both,
}

/// What the Turn was doing when it was hit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// No Run had it yet.
    Queued,
    /// A Run had it, and no command ran.
    Between,
    /// A command was claimed or running.
    Command,
    /// The Turn was over; one behind it was worked on.
    Later,
    /// Nothing was left to do.
    Over,
}

/// How a killed world is started again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Revival {
    /// `daemon start`.
    Start,
    /// Any command that needs a daemon: here, one that waits.
    Wait,
}

/// What happens in a round, and when: instants are revisions of the Session, its own clock, so that they are spread over the Turn's
/// life on any machine.
#[derive(Clone, Debug)]
pub struct Plan {
    pub target: Target,
    daemon_first: bool,
    kill_at: u64,
    kill_delay: Duration,
    steer_at: u64,
    queue_at: u64,
    revival: Revival,
    /// Which command writes the output file, from 1.
    pub writer: usize,
    /// Each command's pause, and whether it comes before the effect.
    pauses: Vec<(u64, bool)>,
}

/// What came of a round.
#[derive(Clone, Debug)]
pub struct Outcome {
    pub target: Target,
    pub moment: Moment,
    /// Processes that were hit.
    pub hits: usize,
    /// Commands whose outcome is unknown.
    pub unknown: usize,
    /// Lines that are missing, each of an unknown command.
    pub missing: usize,
    /// Turns that the inputs became.
    pub turns: usize,
    /// From the kill to the end of everything that was sent.
    pub went_on: Duration,
}

impl Plan {
    pub fn draw(dice: &mut Dice) -> Plan {
        Plan {
            target: dice.pick(&[Target::Worker, Target::Daemon, Target::Both]),
            daemon_first: dice.below(2) == 0,
            kill_at: 1 + dice.below(REVISIONS + 1),
            kill_delay: Duration::from_micros(dice.pick(&[0, 1, 1]) * dice.below(PAUSE_MS * 1_000)),
            steer_at: 1 + dice.below(REVISIONS + 3),
            queue_at: 1 + dice.below(REVISIONS + 3),
            revival: dice.pick(&[Revival::Start, Revival::Wait]),
            writer: 1 + usize::try_from(dice.below(COMMANDS as u64)).expect("small"),
            pauses: (0..COMMANDS)
                .map(|_| (dice.below(PAUSE_MS), dice.below(2) == 0))
                .collect(),
        }
    }

    /// The message that starts the Turn.
    pub fn script(&self) -> String {
        let mut script = String::new();
        for (n, (pause_ms, first)) in (1..).zip(&self.pauses) {
            let mut effect = format!("echo {} >> /workspace/log.txt", line(n));
            if n == self.writer {
                effect.push_str("; echo made >> /workspace/outputs/made.txt");
            }
            let pause = format!("sleep 0.{pause_ms:03}");
            let (one, other) = if *first {
                (&pause, &effect)
            } else {
                (&effect, &pause)
            };
            script.push_str(&format!("@exec {one}; {other}\n"));
        }
        script + "@say finished"
    }
}

/// The line that command `n` appends.
pub fn line(n: usize) -> String {
    format!("line-{n:02}")
}

/// What the steer says.
pub const STEER: &str = "@exec echo steered >> /workspace/log.txt\n@say heard the steer";
/// What the queued message says.
pub const QUEUED: &str = "@exec echo queued >> /workspace/log.txt\n@say heard the queued message";

/// Plays a round and checks everything.
pub fn play(plan: &Plan) -> Outcome {
    let rat = Rat::new();
    let records = Records::open(&rat);
    let session = rat.create(&plan.script());
    let mut hit = None;
    std::thread::scope(|scope| {
        // The client knows nothing of kills: what it sends is accepted all the same.
        scope.spawn(|| chat(plan, &rat, &session));
        hit = Some(strike(plan, &rat, &session, &records));
        match plan.revival {
            Revival::Start => drop(rat.ok(&["daemon", "start"])),
            Revival::Wait => drop(rat.ok(&["sessions", "wait", &session])),
        }
    });
    let hit = hit.expect("struck");
    records.until_idle(&session, &rat);
    let went_on = hit.at.elapsed();
    rat.stop();
    let outcome = verdict::check(plan, &rat, &records, &session, &hit);
    Outcome { went_on, ..outcome }
}

/// Sends the steer and the queued message at their instants, in either order.
fn chat(plan: &Plan, rat: &Rat, session: &str) {
    let records = Records::open(rat);
    let mut sends = [(plan.steer_at, STEER, false), (plan.queue_at, QUEUED, true)];
    sends.sort();
    for (at, message, queue) in sends {
        wait_for(at, &records, session);
        rat.send(session, message, queue);
    }
}

/// The instant has come when the Session has made so many commits, or will make no more.
fn wait_for(revision: u64, records: &Records, session: &str) {
    let started = Instant::now();
    // A Session that nobody works on makes no commits either: then the instant is as good as any other.
    while started.elapsed() < Duration::from_secs(3) {
        let head = records.alive(session);
        if head.revision >= revision || owes_nothing(&head) {
            return;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// What was hit, and in which state.
pub struct Hit {
    pub at: Instant,
    pub processes: Vec<Process>,
    pub moment: Moment,
    /// The head when everything that was hit was gone.
    pub after: Head,
}

fn strike(plan: &Plan, rat: &Rat, session: &str, records: &Records) -> Hit {
    wait_for(plan.kill_at, records, session);
    std::thread::sleep(plan.kill_delay);
    let worker =
        || owner(records, session).map_or_else(|| rat.program(Role::Worker), |one| vec![one]);
    let daemon = || {
        rat.program_by_note()
            .map_or_else(|| rat.program(Role::Daemon), |one| vec![one])
    };
    let mut doomed = match (plan.target, plan.daemon_first) {
        (Target::Worker, _) => worker(),
        (Target::Daemon, _) => daemon(),
        (Target::Both, true) => [daemon(), worker()].concat(),
        (Target::Both, false) => [worker(), daemon()].concat(),
    };
    let moment = moment(&records.alive(session));
    let at = Instant::now();
    doomed.retain(Process::kill);
    doomed.iter().for_each(Process::wait_gone);
    let after = records.alive(session);
    Hit {
        at,
        processes: doomed,
        moment,
        after,
    }
}

/// The worker that holds the lease. It is found without a look at all the machine's processes, which takes a while.
fn owner(records: &Records, session: &str) -> Option<Process> {
    let execution = records.owner(session)?;
    Some(Process::of(
        ProcessIdentity::parse(&execution.0)?,
        Role::Worker,
    ))
}

fn moment(head: &Head) -> Moment {
    match &head.turn {
        None => Moment::Over,
        Some(turn) if turn.number > 1 => Moment::Later,
        Some(turn) if turn.status == TurnStatus::Queued => Moment::Queued,
        Some(turn) if turn.running.is_empty() => Moment::Between,
        Some(_) => Moment::Command,
    }
}
