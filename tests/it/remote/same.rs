//! The same commands against a store here and against a server that has one print the same and end the same.

use pretty_assertions::assert_eq;

use super::far::client_with;
use crate::cli::env::{Ran, TestEnv};
use crate::server::world::Api;

/// What a person types, and what it depends on: `$S` is the first Session, `$A` the first Agent, `$F` the first Artifact.
const SCRIPT: &[&str] = &[
    "agents create --model demo --name reviewer --metadata team=infra -o json",
    "agents list -o json",
    "agents get $A -o table",
    "agents get $a -o id",
    "agents update $A --model demo-2 --instructions 'be brief' -o json",
    "agents update $A",
    "agents get agent_zzzz",
    "agents get no-id-at-all!",
    "sessions create --agent-id $a --environment none --title one --metadata k=v --no-wait -o id",
    "sessions create --input '@say hello\n@exec echo out > /workspace/outputs/f.txt; echo seen\n@say done' --title two --wait -o table",
    "sessions list -o id",
    "sessions list --limit 1 -o id",
    "sessions list --status requires_action -o json",
    "sessions list --status idle --metadata k=v -o tsv",
    "sessions list --agent-id $a -o id",
    "sessions get $S -o json",
    "sessions get $S -o yaml",
    "sessions get $s -o id",
    "sessions get sess_zzzz",
    "sessions get sess_aaaaaaaaaaaaaaaaaaaaaaaaaa",
    "sessions turns $S -o json",
    "sessions turns $S --order asc -o id",
    "sessions items $S -o json",
    "sessions items $S -o table",
    "sessions items $S --limit 2 -o id",
    "sessions items $S --all --order desc -o jsonl",
    "sessions items $S --follow -o jsonl",
    "sessions items $S --follow -o table",
    "sessions items $S --turn turn_zzzz",
    "sessions artifacts $S -o json",
    "sessions artifacts $S --turn $T -o id",
    "artifacts get $S $F",
    "artifacts get $S $f --to out.txt -o json",
    "artifacts get $S artf_zzzz",
    "sessions events $S -o jsonl",
    "sessions events $S --limit 3 -o id",
    "sessions events $S --follow -o id",
    "sessions events $S --after evt_aaaaaaaaaaaaaaaaaaaaaaaaaa",
    "sessions send $S --input '@say again' --idempotency-key k1 --no-wait -o json",
    "sessions wait $S -o id",
    "sessions send $S --input '@say again' --idempotency-key k1 --no-wait -o json",
    "sessions send $S --input '@say another' --idempotency-key k1 --no-wait -o json",
    "sessions send $S --input '@fail rate_limit_exceeded slow down' --wait -o table",
    "sessions send $S --queue --input '@say queued' --wait -o id",
    "sessions wait $S --turn $T -o table",
    "sessions cancel $S -o json",
    "sessions cancel $S --turn $T -o json",
    "sessions answer $S --result x",
    "sessions update $S --title '' --metadata team=infra -o json",
    "sessions update $S",
    "sessions create --environment none --input x --idempotency-key c1 --metadata n=1 --no-wait -o id",
    "sessions create --environment none --input x --idempotency-key c1 --metadata n=2 --no-wait -o id",
    "sessions create --environment none --network enabled --input x",
    "sessions delete $S",
    "sessions delete $S --yes -o json",
    "sessions get $S",
    "agents delete $a --yes -o json",
    "agents get $A",
];

/// Times and sums that differ from run to run, beside ids.
fn comparable(env: &TestEnv, ran: &Ran) -> (String, i32) {
    let mut text = env.scrub().page(&ran.stdout);
    for (pattern, with) in [
        (
            r#""(created_at|completed_at|started_at|updated_at|last_active_at|accepted_at)":\d+"#,
            r#""$1":[seconds]"#,
        ),
        (r"(_at: )\d+", "${1}[seconds]"),
        (r#""duration_ms":\d+"#, r#""duration_ms":[ms]"#),
        (r#""digest":"[0-9a-f]{64}""#, r#""digest":"[digest]""#),
        (r"in \d+(ms|s|\.\d+s)", "in [span]"),
        (r"\b(\d+s ago|now)\b", "[ago]"),
        (r"\d{4}-\d\d-\d\dT[0-9:.]+Z", "[time]"),
        (
            r"\d{4}-\d\d-\d\d \d\d:\d\d(:\d\d)?( [+-]\d\d:\d\d)?( \([^)]*\))?",
            "[time]",
        ),
        // What a command printed counts, and so does how long it took.
        (r#"((?:input|total)_tokens"?: ?)\d+"#, "$1[number]"),
        (r"(?m)^(tokens\s+)\d+$", "$1[number]"),
        (r"  +", "  "),
    ] {
        let regex = regex::Regex::new(pattern).expect("a pattern");
        text = regex.replace_all(&text, with).into_owned();
    }
    (text, ran.code)
}

/// Plays the script; what was shown of every line.
fn play(env: &TestEnv) -> Vec<(String, String, i32)> {
    let mut names: Vec<(&str, String)> = Vec::new();
    let mut shown = Vec::new();
    for line in SCRIPT {
        let mut typed = (*line).to_owned();
        for (name, value) in &names {
            typed = typed.replace(name, value);
        }
        let ran = env.run(&typed);
        let (stdout, code) = comparable(env, &ran);
        shown.push(((*line).to_owned(), stdout, code));
        if line.starts_with("agents create") {
            let agent = first_id(&ran.stdout, "agent_");
            names.push(("$A", agent.clone()));
            names.push(("$a", agent[..12].to_owned()));
        }
        if line.contains("--title two") {
            assert_eq!(ran.code, 0, "{ran:#?}");
            let session = env.ok("sessions list --limit 1 -o id");
            let turn = env.ok(&format!("sessions turns {session} -o id"));
            let artifact = env.ok(&format!("sessions artifacts {session} -o id"));
            names.push(("$S", session.clone()));
            names.push(("$s", session[..12].to_owned()));
            names.push(("$T", turn));
            names.push(("$F", artifact.clone()));
            names.push(("$f", artifact[..10].to_owned()));
        }
        if line.contains("--wait") || line.contains("wait $S") {
            // What is shown of a Session must not depend on who is quicker.
            for (_, session) in names.iter().filter(|(name, _)| *name == "$S") {
                let _ = env.run(&format!("sessions wait {session}"));
            }
        }
    }
    shown
}

fn first_id(text: &str, prefix: &str) -> String {
    let start = text.find(prefix).expect("an id");
    text[start..start + prefix.len() + 26].to_owned()
}

#[test]
fn every_command_prints_and_ends_the_same_here_and_far_away() {
    const MORE: &str = "provider.model = \"demo\"\n[ui]\ntime = \"utc\"";
    let here = TestEnv::configured(
        "[profile.here]\nprovider.kind = \"demo\"\nprovider.model = \"demo\"\n[ui]\ntime = \"utc\"\n",
    );
    let api = Api::new();
    let far = client_with(&api.base, &api.key, MORE);
    let (here, there) = (play(&here), play(&far));
    for (here, there) in here.iter().zip(&there) {
        assert_eq!(here, there);
    }
    assert_eq!(here.len(), SCRIPT.len());
    // Nothing was kept on the client's side.
    assert!(!far.data().exists());
}

#[test]
fn what_needs_a_store_says_so_in_one_line() {
    let far = client_with("http://127.0.0.1:9/v1", "k", "");
    let session = "sess_aaaaaaaaaaaaaaaaaaaaaaaaaa";
    for line in [
        "keys list".to_owned(),
        "keys create --name x".to_owned(),
        "outbox list".to_owned(),
        "fsck".to_owned(),
        "daemon status".to_owned(),
        "daemon start".to_owned(),
        "daemon run".to_owned(),
        "daemon stop".to_owned(),
        format!("runs list {session}"),
        format!("sessions explain {session}"),
        format!("sessions export {session} --to x"),
        "sessions import x".to_owned(),
    ] {
        let ran = far.run(&line);
        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{ran:#?}");
        let error = "error: this command works on a store, and profile \"far\" is a client of http://127.0.0.1:9/v1 [RT-0224]\n";
        assert!(ran.stderr.starts_with(error), "{ran:#?}");
    }
}

#[test]
fn read_only_mode_holds_far_away_too() {
    let far = client_with("http://127.0.0.1:9/v1", "k", "read_only = true");
    let ran = far.run("sessions send sess_x --input x");
    assert_eq!(ran.code, 2, "{ran:#?}");
    assert!(ran.stderr.contains("read-only mode is on"), "{ran:#?}");
}
