//! `fsck` from outside: exit codes and formats, repairs on a real data directory, and peace beside a daemon at work.

use rat_things::engine::ids::SessionId;
use rat_things::engine::keys::{self, Group};

use super::env::TestEnv;
use super::scrub::seen;
use super::stored::{key, set_row};
use super::terminal::Terminal;

#[test]
fn a_sound_store_is_clean_in_every_format() {
    let env = TestEnv::new();
    assert_eq!(env.run("fsck").code, 0, "an empty one, too");
    let session = env.session("@say hello");
    env.scrub().page(&session);
    env.sandboxed("@exec mkdir -p outputs && echo made > outputs/a");
    seen!(env.page(&["fsck -o table", "fsck -o id", "fsck --quick -o tsv"]));
    let json = env.json("fsck");
    assert_eq!(json["ok"], true);
    assert_eq!(json["checked"]["sessions"], 2);
    assert_eq!(json["findings"], serde_json::json!([]));
    assert_eq!(json["not_checked"], serde_json::json!([]));
}

#[test]
fn damage_exits_with_one_and_what_is_safe_is_repaired() {
    let env = TestEnv::new();
    let session = env.session("@call ask {}");
    env.scrub().page(&session);
    // A daemon would clean up after itself.
    env.ok("daemon stop");
    let nobody = SessionId::parse(&format!("sess_{}", "a".repeat(26))).expect("well formed");
    let stray = keys::agenda(Group::Execute, &nobody, 7);
    set_row(&env.data(), stray, Some(Vec::new()));
    set_row(&env.data(), key(&session, keys::CONFIG), None);
    seen!(env.page(&[
        "fsck -o table",
        "fsck -o tsv",
        "fsck --repair -o table",
        "fsck --repair --read-only",
        "fsck -o id",
    ]));
    let found = env.run("fsck -o json");
    assert_eq!(found.code, 1);
    let json: serde_json::Value = serde_json::from_str(&found.stdout).expect("JSON");
    assert_eq!(json["ok"], false);
    assert_eq!(json["findings"][0]["state"], "by hand");
    assert_eq!(json["findings"][0]["key"], "config");
}

#[test]
fn a_terminal_gets_a_table_and_nothing_stays_of_the_progress() {
    let env = TestEnv::new().with("NO_COLOR", "1");
    let session = env.session("@say hello");
    set_row(&env.data(), key(&session, keys::CONFIG), None);
    let (seen, code) = Terminal::start(&env, 70, "fsck").end();
    assert_eq!(code, 1, "{seen}");
    assert!(seen.starts_with("store     no damage\n"), "{seen}");
    let found = format!(
        "form      by hand  S/{session} config: the\n                   session has no configuration\n"
    );
    assert!(seen.contains(&found), "{seen}");
}

#[test]
fn beside_a_daemon_at_work_there_are_no_findings() {
    let env = TestEnv::new();
    let turn = "@exec echo one\n@slow 40 a few words that take a while\n@exec echo two\n@say done";
    let sessions: Vec<String> = (0..6)
        .map(|_| {
            let ran = env.run_with("sessions create --input - --no-wait -o id", turn.as_bytes());
            ran.stdout.trim_end().to_owned()
        })
        .collect();
    let busy = || {
        let statuses = env.ok("sessions list --status in_progress -o id");
        !statuses.is_empty()
    };
    let mut beside = 0;
    let mut round = 0;
    while round < 10 || (busy() && round < 60) {
        let ran = env.run("fsck --repair -o json");
        assert_eq!(ran.code, 0, "{ran:#?}");
        let json: serde_json::Value = serde_json::from_str(&ran.stdout).expect("JSON");
        assert_eq!(json["findings"], serde_json::json!([]), "{json:#}");
        beside += usize::from(busy());
        if round % 3 == 0 && round < 9 {
            for session in &sessions {
                env.ok(&format!("sessions send {session} --input more --no-wait"));
            }
        }
        round += 1;
    }
    assert!(beside > 0, "nothing went on beside it");
    for session in &sessions {
        env.ok(&format!("sessions wait {session}"));
    }
    env.ok(&format!("sessions delete {} --yes", sessions[0]));
    assert_eq!(env.run("fsck").code, 0);
}
