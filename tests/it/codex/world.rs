//! The real program with the real Codex, and a model provider that a script speaks for.

use rat_things::backend::local::process::ProcessIdentity;
use serde_json::{Value, json};

use super::installed::codex;
use super::stub::Stub;
use crate::kill::rat::{Rat, until};

/// The key of the real provider. Nothing of Codex may ever see it.
pub(crate) const KEY: &str = "planted-provider-key";

/// A data directory whose agents are driven by Codex, over this provider.
pub(crate) fn rat(stub: &Stub) -> Rat {
    with(stub, codex().to_str().expect("a path of text"))
}

/// The same with another Codex.
pub(crate) fn with(stub: &Stub, program: &str) -> Rat {
    profiled(stub, program, "")
}

/// The same with more lines in its profile.
pub(crate) fn profiled(stub: &Stub, program: &str, more: &str) -> Rat {
    let profile = format!(
        "{more}\nharness = \"codex\"\ncodex.program = {program:?}\nprovider.model = \"stub-model\"\nlimits.lease_ms = 5000"
    );
    Rat::with(&profile).with_environment([
        ("RAT_THINGS_PROVIDER", "responses".to_owned()),
        ("RAT_THINGS_BASE_URL", stub.base_url.clone()),
        ("OPENAI_API_KEY", KEY.to_owned()),
    ])
}

/// Creates a Session with a message and waits until its Turn is over; its id.
pub(crate) fn create(rat: &Rat, input: &str) -> String {
    let session = rat.create(input);
    settled(rat, &session);
    session
}

/// Creates a Session whose Agent has one function, `ask`.
pub(crate) fn create_with_function(rat: &Rat, input: &str, is_async: bool) -> String {
    let parameters = json!({"type": "object", "properties": {"what": {"type": "string"}}});
    let mut tool = json!({"type": "function", "name": "ask", "description": "Asks somebody.", "parameters": parameters});
    if is_async {
        tool["async"] = true.into();
    }
    let request = json!({
        "agent": {"model": "stub-model", "tools": [tool]},
        "environment": {"type": "openai_hosted"},
        "input": input,
    });
    let file = rat.path().join("request.json");
    std::fs::write(&file, request.to_string()).expect("written");
    let file = file.to_str().expect("a plain path");
    let args = ["sessions", "create", "-f", file, "--no-wait", "-o", "id"];
    rat.ok(&args).trim().to_owned()
}

/// Sends a message and waits until its Turn is over.
pub(crate) fn send(rat: &Rat, session: &str, input: &str) {
    rat.send(session, input, false);
    settled(rat, session);
}

/// Waits until a Session has nothing to do, however its last Turn ended.
pub(crate) fn settled(rat: &Rat, session: &str) {
    until_status(rat, session, &["idle"]);
}

/// Waits until a Session has one of these statuses.
pub(crate) fn until_status(rat: &Rat, session: &str, wanted: &[&str]) {
    until(
        || format!("session {session} is {wanted:?}{}", rat.logs()),
        || {
            let status = rat.json(&["sessions", "get", session])["status"].clone();
            wanted.contains(&status.as_str()?).then_some(())
        },
    );
}

/// The last Turn of a Session: its status, and the code of its error.
pub(crate) fn last_turn(rat: &Rat, session: &str) -> (Value, Value) {
    let turns = rat.turns(session);
    let turn = turns.last().expect("there is a turn");
    (turn["status"].clone(), turn["error"]["code"].clone())
}

/// What the Items of a Session say, each in a few words.
pub(crate) fn transcript(rat: &Rat, session: &str) -> Vec<String> {
    let said = |item: &Value| {
        let text = |part: &Value| part["text"].as_str().unwrap_or_default().to_owned();
        let parts: Vec<String> = item["content"]
            .as_array()
            .into_iter()
            .flatten()
            .map(text)
            .collect();
        let kind = item["type"].as_str().unwrap_or_default();
        match kind {
            "message" => format!(
                "{}: {}",
                item["role"].as_str().unwrap_or_default(),
                parts.concat()
            ),
            "reasoning" => {
                let summary: Vec<String> = item["summary"]
                    .as_array()
                    .into_iter()
                    .flatten()
                    .map(text)
                    .collect();
                format!("reasoning: {}", summary.concat())
            }
            "command_execution" => format!(
                "{} [{}]: {}",
                item["command"].as_str().unwrap_or_default(),
                item["status"].as_str().unwrap_or_default(),
                item["output"].as_str().unwrap_or_default().trim()
            ),
            _ => format!(
                "{kind}: {}{}",
                item["name"].as_str().unwrap_or_default(),
                item["output"].as_str().unwrap_or_default()
            ),
        }
    };
    rat.items(session).iter().map(said).collect()
}

/// The Codex processes of a data directory.
pub(crate) fn codexes(rat: &Rat) -> Vec<ProcessIdentity> {
    let marker = rat.path().file_name().expect("it has a name");
    let marker = marker.to_str().expect("a plain name");
    let entries = std::fs::read_dir("/proc").expect("/proc");
    let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
    pids.filter_map(|pid| {
        let identity = ProcessIdentity::of(pid).ok()?;
        let program = std::fs::read_link(format!("/proc/{pid}/exe")).ok()?;
        let environment = std::fs::read(format!("/proc/{pid}/environ")).ok()?;
        let is_ours = String::from_utf8_lossy(&environment).contains(marker);
        (program.ends_with("bin/codex") && is_ours).then_some(identity)
    })
    .collect()
}

/// The one Codex process that lives.
pub(crate) fn the_codex(rat: &Rat) -> ProcessIdentity {
    until(
        || format!("one Codex lives{}", rat.logs()),
        || match codexes(rat).as_slice() {
            [one] => Some(one.clone()),
            _ => None,
        },
    )
}

/// Stops the program after something was killed: no process of it is left, Codex neither. A directory may be, until the next one is made.
pub(crate) fn stop_killed(rat: &Rat) {
    rat.stop();
    until(
        || "no Codex is left".to_owned(),
        || codexes(rat).is_empty().then_some(()),
    );
}

/// Stops the program; nothing of it is left.
pub(crate) fn stop(rat: &Rat) {
    stop_killed(rat);
    let homes = std::fs::read_dir(rat.data().join("run/codex")).into_iter();
    let homes = homes.flatten().flatten().map(|entry| entry.file_name());
    let left: Vec<_> = homes
        .filter(|name| name != ".lock" && name != ".digest")
        .collect();
    assert_eq!(left, [""; 0], "directories of processes are left");
}
