//! What the model says and calls in a round.

use serde_json::{Value, json};

use super::super::servers;
use super::super::servers::script::server;
use super::super::stub::{Answer, Asked, Gate};
use super::moment::Moment;

/// The call of the command, or of what takes its place: a patch, or a tool of an MCP server.
pub const COMMAND: &str = "command-1";
/// The call of the function.
pub const FUNCTION: &str = "function-1";
/// Files of the patch. Each is written on its own, so that there is time enough to hit it.
const FILES: usize = 60;
/// The label of the MCP server.
const SERVER: &str = "calc";

/// What the model does in the round that is played now.
#[derive(Clone)]
pub struct Scene {
    pub moment: Moment,
    pub gate: Gate,
}

/// The MCP server of a round: a call has the effect that a command would have.
pub fn tool(moment: Moment) -> Value {
    let hold = match moment.is_held() {
        true => "until [ -e go-on ]; do sleep 0.02; done;",
        false => "",
    };
    let on_call = format!("echo ran >> log; echo yes > begun; {hold} text=out");
    servers::mcp(SERVER, server(&on_call), json!({}))
}

/// What the model says depends on what it is given alone: whoever asks, and however often, hears the same.
pub fn answer(scene: &Scene, asked: &Asked) -> Answer {
    let Scene { moment, gate } = scene;
    let done = || match moment {
        Moment::SteerTaken if asked.times_told("steered") == 0 => Answer::new().says("done"),
        // Held, so that there is still somebody to be killed.
        Moment::AskedAgain
        | Moment::ServerAnswered
        | Moment::Answered
        | Moment::Yielded
        | Moment::SteerTaken => Answer::new().until(gate).says("done"),
        Moment::LastWritten => Answer::new().says("done").until(gate),
        _ => Answer::new().says("done"),
    };
    if asked.times_told("again") > 0 {
        return Answer::new().says("done again");
    }
    if !asked.outputs_of(FUNCTION).is_empty() {
        return done();
    }
    if !asked.outputs_of(COMMAND).is_empty() {
        return match moment.has_function() {
            true => Answer::new().calls(FUNCTION, "ask", &json!({"what": "colour"})),
            false => done(),
        };
    }
    let command = match moment {
        moment if moment.is_held() => {
            "echo ran >> log; echo yes > begun; until [ -e go-on ]; do sleep 0.02; done; echo out"
        }
        _ => "echo ran >> log; echo out; echo yes > ended",
    };
    match moment {
        Moment::ServerCalled | Moment::ServerAnswered => {
            let answer = Answer::new().says("I note it");
            servers::asks(answer, COMMAND, SERVER, "note", &json!({"text": "x"}))
        }
        Moment::Patching => Answer::new().says("I write it").patches(COMMAND, &patch()),
        Moment::Yielded => {
            let arguments = json!({"cmd": command, "yield_time_ms": 300});
            Answer::new()
                .says("I run it")
                .calls(COMMAND, "exec_command", &arguments)
        }
        Moment::Asked => Answer::new()
            .until(gate)
            .says("I run it")
            .runs(COMMAND, command),
        Moment::Writing => Answer::new()
            .says_in_halves("I run ", gate, "it")
            .runs(COMMAND, command),
        Moment::Written => Answer::new()
            .says("I run it")
            .until(gate)
            .runs(COMMAND, command),
        Moment::Called => Answer::new()
            .says("I run it")
            .runs(COMMAND, command)
            .until(gate),
        _ => Answer::new().says("I run it").runs(COMMAND, command),
    }
}

/// A patch of many files. The last one is the one that a command would write.
fn patch() -> String {
    let files = (1..FILES).map(|n| format!("*** Add File: file-{n}\n+text\n"));
    let files: String = files.collect();
    format!("*** Begin Patch\n{files}*** Add File: log\n+ran\n*** End Patch\n")
}
