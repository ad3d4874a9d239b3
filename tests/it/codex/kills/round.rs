//! One round: a Turn in which something is killed, the Turn after it, and what must be true of both.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rat_things::backend::local::process::ProcessIdentity;
use rat_things::engine::ports::Liveness;
use tokio::runtime::Runtime;

use super::super::servers;
use super::super::stub::{Asked, Gate, Stub};
use super::super::world::{self, codexes, settled, transcript, until_status};
use super::moment::{Moment, Target};
use super::scene::{COMMAND, FUNCTION, Scene, answer, tool};
use crate::kill::dice::Dice;
use crate::kill::processes::{Process, Role};
use crate::kill::rat::{Rat, until};

/// About as long as a Turn takes here.
const RANDOM_WITHIN_MS: u64 = 1_200;
/// Long enough that only a hang reaches it.
const PATIENCE: Duration = Duration::from_secs(60);

/// What happens in a round.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    pub moment: Moment,
    pub target: Target,
}

impl Plan {
    pub fn at_random(dice: &mut Dice) -> Plan {
        let after_ms = dice.below(RANDOM_WITHIN_MS);
        Plan {
            moment: Moment::At(u16::try_from(after_ms).expect("it is small")),
            target: dice.pick(&[Target::Codex, Target::Worker, Target::Everything]),
        }
    }
}

/// What came of it. Whatever must not be is no outcome.
pub struct Outcome {
    /// Something was killed.
    pub hit: bool,
    /// The command ran.
    pub ran: bool,
    /// The model was told that the command's outcome is unknown.
    pub unknown: bool,
    /// Requests to the model that were looked at.
    pub requests: usize,
}

/// A data directory with its provider, for one round after the other.
pub struct World {
    runtime: Runtime,
    stub: Stub,
    scene: Arc<Mutex<Scene>>,
    rat: Rat,
}

impl World {
    pub fn new() -> World {
        let runtime = Runtime::new().expect("a runtime can be made");
        let scene = Arc::new(Mutex::new(Scene {
            moment: Moment::Over,
            gate: Gate::new(),
        }));
        let played = Arc::clone(&scene);
        let stub = runtime.block_on(Stub::playing(move |asked| {
            let scene = played.lock().unwrap_or_else(PoisonError::into_inner);
            answer(&scene.clone(), asked)
        }));
        let rat = world::rat(&stub);
        World {
            runtime,
            stub,
            scene,
            rat,
        }
    }

    pub fn stop(self) {
        // Directories of processes that were killed may be there still: the next process removes them.
        self.rat.stop();
    }

    pub fn play(&self, plan: &Plan) -> Outcome {
        let gate = Gate::new();
        *self.scene.lock().unwrap_or_else(PoisonError::into_inner) = Scene {
            moment: plan.moment,
            gate: gate.clone(),
        };
        let asked_before = self.stub.requests().len();
        let session = match plan.moment {
            moment if moment.has_function() => world::create_with_function(&self.rat, "go", false),
            moment if moment.has_server() => {
                servers::create(&self.rat, &[tool(moment)], "openai_hosted", "go")
            }
            _ => self.rat.create("go"),
        };
        self.until_moment(plan, &session, &gate);
        let turn = self.rat.turns(&session)[0]["id"].clone();
        let hit = self.kill(plan.target);
        let asked_until_kill = self.stub.requests().len();
        gate.open();
        if plan.moment.is_held() {
            self.let_command_end(&session);
        }
        if plan.target == Target::Everything {
            self.rat.ok(&["daemon", "start"]);
        }
        if plan.moment.has_function() {
            self.answer_function(&session);
        }
        settled(&self.rat, &session);

        self.the_turn_completed(&session, 1, &turn);
        self.rat.send(&session, "again", false);
        settled(&self.rat, &session);
        self.the_turn_completed(&session, 2, &turn);
        let requests = self.stub.requests().split_off(asked_before);
        let later = &requests[asked_until_kill - asked_before..];
        self.look(plan, &session, hit, later)
    }

    /// Comes back at the moment at which something is to be killed.
    fn until_moment(&self, plan: &Plan, session: &str, gate: &Gate) {
        let rat = &self.rat;
        let file = |name: &'static str| {
            let path = rat.workspace(session).join(name);
            until(
                || format!("{name} is there{}", rat.logs()),
                || path.exists().then_some(()),
            );
        };
        match plan.moment {
            Moment::Starting => until(
                || format!("Codex starts{}", rat.logs()),
                || (!codexes(rat).is_empty()).then_some(()),
            ),
            Moment::Running | Moment::ServerCalled => file("begun"),
            Moment::Ended => file("ended"),
            Moment::Patching => file("file-2"),
            Moment::ServerAnswered => file("answered"),
            Moment::Steered | Moment::SteerTaken => {
                file("begun");
                rat.send(session, "steered", false);
                if plan.moment == Moment::SteerTaken {
                    self.let_command_end(session);
                    self.reached(gate);
                }
            }
            Moment::Waiting => until_status(rat, session, &["requires_action"]),
            Moment::Answered => {
                self.answer_function(session);
                self.reached(gate);
            }
            Moment::Over => settled(rat, session),
            // Any instant is as good as any other.
            Moment::At(after_ms) => std::thread::sleep(Duration::from_millis(after_ms.into())),
            Moment::Asked
            | Moment::Writing
            | Moment::Written
            | Moment::Called
            | Moment::AskedAgain
            | Moment::LastWritten
            | Moment::Yielded => self.reached(gate),
        }
    }

    fn reached(&self, gate: &Gate) {
        self.runtime.block_on(gate.reached());
    }

    fn let_command_end(&self, session: &str) {
        std::fs::write(self.rat.workspace(session).join("go-on"), "").expect("written");
    }

    /// Answers the function call, unless it was answered before.
    fn answer_function(&self, session: &str) {
        until(
            || format!("the call waits{}", self.rat.logs()),
            || {
                let status = self.rat.json(&["sessions", "get", session])["status"].clone();
                match status.as_str()? {
                    "requires_action" => {
                        let args = ["sessions", "answer", session, "--result", "blue"];
                        self.rat.output(&args).status.success().then_some(())
                    }
                    _ => transcript(&self.rat, session)
                        .contains(&"function_call_output: blue".to_owned())
                        .then_some(()),
                }
            },
        );
    }

    /// Whether something was there to be killed.
    fn kill(&self, target: Target) -> bool {
        // Another worker may have another one by then.
        let codexes = codexes(&self.rat);
        let they_end_by_themselves = || {
            until(
                || "Codex ends by itself".to_owned(),
                || {
                    let mut inspected = codexes.iter().map(ProcessIdentity::inspect);
                    inspected.all(|found| found == Liveness::Gone).then_some(())
                },
            );
        };
        match target {
            Target::Codex => {
                for codex in &codexes {
                    codex.kill_and_wait(PATIENCE).expect("it is ours");
                }
                !codexes.is_empty()
            }
            Target::Worker => {
                let mut workers = self.rat.program(Role::Worker);
                workers.retain(Process::kill);
                workers.iter().for_each(Process::wait_gone);
                they_end_by_themselves();
                !workers.is_empty()
            }
            Target::Everything => {
                let killed = self.rat.kill_everything();
                they_end_by_themselves();
                killed > 0
            }
        }
    }

    fn the_turn_completed(&self, session: &str, turns: usize, first: &serde_json::Value) {
        let all = self.rat.turns(session);
        let is_good = all.len() == turns
            && all[0]["id"] == *first
            && all.iter().all(|turn| turn["status"] == "completed");
        assert!(is_good, "{all:#?}{}", self.rat.logs());
    }

    /// One message reached the server, whichever of its processes, and one Item says what came of it.
    fn the_server_was_called_once(&self, plan: &Plan, session: &str, unknown: bool) {
        assert_eq!(self.rat.lines(session, "calls").len(), 1);
        let calls = servers::calls(&self.rat, session);
        let expected = if unknown { "incomplete" } else { "completed" };
        assert_eq!(calls.len(), 1, "{calls:#?}");
        assert_eq!(calls[0]["status"], expected, "{calls:#?}");
        // What was called outlives Codex; a worker that is lost in the middle leaves nobody who knows.
        match (plan.target, plan.moment) {
            (Target::Codex, _) => assert!(!unknown, "{calls:#?}"),
            (Target::Worker, Moment::ServerCalled) => assert!(unknown, "{calls:#?}"),
            (Target::Worker | Target::Everything, _) => {}
        }
    }

    /// What must be true at the end, of the workspace, of the transcript and of what the model was given since the kill.
    fn look(&self, plan: &Plan, session: &str, hit: bool, later: &[Asked]) -> Outcome {
        let log = self.rat.lines(session, "log");
        assert!(log.len() <= 1, "the command ran {} times", log.len());
        let said = transcript(&self.rat, session);
        let times = |words: &str| said.iter().filter(|said| *said == words).count();
        let steers = usize::from(plan.moment.has_steer());
        assert_eq!(
            [
                times("user: go"),
                times("user: steered"),
                times("user: again")
            ],
            [1, steers, 1],
            "{said:#?}"
        );

        assert!(!later.is_empty());
        for asked in later {
            assert_eq!(asked.times_told("go"), 1, "{:#?}", asked.input());
            assert!(asked.times_told("steered") <= 1, "{:#?}", asked.input());
            assert!(asked.times_told("again") <= 1, "{:#?}", asked.input());
            assert!(asked.outputs_of(COMMAND).len() <= 1, "{:#?}", asked.input());
            assert!(
                asked.outputs_of(FUNCTION).len() <= 1,
                "{:#?}",
                asked.input()
            );
        }
        let last = later.last().expect("there is one");
        assert_eq!(last.times_told("steered"), steers);
        assert_eq!(last.times_told("again"), 1);
        let told = last.outputs_of(COMMAND);
        assert_eq!(told.len(), 1, "{:#?}", last.input());
        if plan.moment.has_function() {
            assert_eq!(last.outputs_of(FUNCTION), ["blue"]);
        }
        let unknown = told[0].contains("outcome unknown");
        if plan.moment.has_server() {
            self.the_server_was_called_once(plan, session, unknown);
        }
        let sign = match plan.moment {
            Moment::Patching => "",
            Moment::Yielded => "session ID",
            _ => "out",
        };
        // It is told what it did, or that nobody knows; that nothing happened it is told never.
        assert!(
            unknown || (told[0].contains(sign) && log.len() == 1),
            "{told:?}"
        );
        Outcome {
            hit,
            ran: log.len() == 1,
            unknown,
            requests: later.len(),
        }
    }
}
