//! What a person sees on a terminal.

use super::env::TestEnv;
use super::scrub::seen;
use super::terminal::Terminal;

#[test]
fn create_follows_the_turn_and_says_what_comes_next() {
    let env = TestEnv::new();
    let terminal = Terminal::start(
        &env,
        80,
        "sessions create --environment none --input '@reason hm\n@say hello there' --color never",
    );
    let (seen, code) = terminal.end();
    assert_eq!(code, 0, "{seen}");
    let session = env.ok("sessions list -o id");
    env.scrub().page(&session);
    seen!(env.scrub().page(&what_stays(&seen)));
}

/// What stays on the screen, of all that was drawn and erased again.
pub fn what_stays(seen: &str) -> String {
    let mut lines = vec![String::new()];
    let mut row = 0;
    let mut rest = seen;
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        match c {
            '\n' => {
                row += 1;
                if row == lines.len() {
                    lines.push(String::new());
                }
            }
            '\r' => {
                // The cursor is at the start: what is written next is written over what is there.
                lines[row].clear();
            }
            '\x1b' if rest.starts_with("[2K") => {
                rest = &rest[3..];
                lines[row].clear();
            }
            '\x1b' if rest.starts_with("[J") => {
                rest = &rest[2..];
                lines.truncate(row + 1);
                lines[row].clear();
            }
            '\x1b' => {
                let end = rest.find('A').expect("nothing else is drawn");
                row -= rest[1..end].parse::<usize>().expect("lines up");
                rest = &rest[end + 1..];
            }
            c => lines[row].push(c),
        }
    }
    let lines: Vec<&str> = lines.iter().map(|line| line.trim_end()).collect();
    lines.join("\n") + "\n"
}

#[test]
fn ctrl_c_leaves_and_the_work_goes_on() {
    let env = TestEnv::new();
    let mut terminal = Terminal::start(
        &env,
        80,
        "sessions create --environment none --input '@say begun\n@slow 500 one two three four five six' --color never",
    );
    terminal.wait_for("working");
    terminal.type_in("\x03");
    let (seen, code) = terminal.end();
    assert_eq!(code, 0, "{seen}");
    let session = env.ok("sessions list -o id");
    assert!(seen.contains("detached; the work goes on"), "{seen}");
    let stays = what_stays(&seen);
    assert!(
        !stays.contains("^C") && !stays.contains("working"),
        "{stays}"
    );
    assert!(
        seen.contains(&format!("rat-things sessions wait {session}")),
        "{seen}"
    );
    env.ok(&format!("sessions wait {session}"));
    let items = env.ok(&format!("sessions items {session} -o json"));
    assert!(items.contains("one two three four five six"), "{items}");
    assert_eq!(
        env.json(&format!("sessions turns {session}"))["data"][0]["status"],
        "completed"
    );
}

#[test]
fn ctrl_c_while_waiting_is_an_interruption_and_the_work_goes_on() {
    let env = TestEnv::new();
    let session = env.ok(
        "sessions create --environment none --input '@say begun\n@sleep 60000\n@say done' -o id",
    );
    for (line, first) in [
        (format!("wait {session}"), "begun"),
        (format!("items {session} --follow"), "begun"),
        (format!("items {session} --follow -o jsonl"), "begun"),
        (format!("events {session} --follow"), "evt_"),
        (format!("events {session} --follow -o jsonl"), "evt_"),
    ] {
        let mut terminal = Terminal::start(&env, 80, &format!("sessions {line}"));
        terminal.wait_for(first);
        terminal.type_in("\x03");
        let (seen, code) = terminal.end();
        assert_eq!(code, 130, "{line}: {seen}");
    }
    assert_eq!(
        env.json(&format!("sessions turns {session}"))["data"][0]["status"],
        "in_progress"
    );
    env.ok(&format!("sessions cancel {session}"));
}

#[test]
fn tables_fit_the_terminal_and_never_cut_an_id() {
    let env = TestEnv::new();
    let title = "a very long title that goes on and on, much longer than any terminal is wide, and then some more";
    let session = env.ok(&format!(
        "sessions create --no-autostart --title '{title}' -o id"
    ));
    for columns in [60, 80, 120] {
        let (seen, code) = Terminal::start(&env, columns, "sessions list --color never").end();
        assert_eq!(code, 0, "{seen}");
        assert!(seen.contains(&session), "{seen}");
        let widest = seen
            .lines()
            .map(|line| line.chars().count())
            .max()
            .unwrap_or(0);
        assert!(
            widest <= usize::from(columns).max(66),
            "{columns}: {widest}\n{seen}"
        );
    }
}

#[test]
fn colour_follows_the_terminal_and_what_people_ask_for() {
    let env = TestEnv::new();
    let session = env.session("@fail server_error it broke");
    let coloured = |env: &TestEnv, line: &str| {
        let (seen, _) = Terminal::start(env, 80, line).end();
        seen.contains("\x1b[")
    };
    let turns = format!("sessions turns {session}");
    assert!(coloured(&env, &turns));
    assert!(coloured(&env, "sessions get sess_zzz"));
    assert!(coloured(&env, "--help"));
    for line in [
        format!("{turns} --color never"),
        format!("{turns} -o json"),
        format!("{turns} -o tsv"),
    ] {
        assert!(!coloured(&env, &line), "{line}");
    }
    let env = env.with("NO_COLOR", "1");
    for line in [turns.as_str(), "sessions get sess_zzz", "--help"] {
        assert!(!coloured(&env, line), "{line}");
    }
    assert!(coloured(&env, &format!("{turns} --color always")));
    let env = env.with("NO_COLOR", "").with("TERM", "dumb");
    for line in [turns.as_str(), "sessions get sess_zzz"] {
        assert!(!coloured(&env, line), "{line}");
    }
}

#[test]
fn a_spinner_appears_late_and_leaves_nothing_behind() {
    let env = TestEnv::new();
    let line = "sessions create --environment none --input '@sleep 900\n@say done' --color never";
    let (seen, _) = Terminal::start(&env, 80, line).end();
    assert!(seen.contains("working"), "{seen:?}");
    let stays = what_stays(&seen);
    assert!(!stays.contains("working"), "{stays}");
    for (name, value) in [("CI", "1"), ("TERM", "dumb"), ("ACCESSIBLE", "1")] {
        let env = TestEnv::new().with(name, value);
        let (seen, _) = Terminal::start(&env, 80, line).end();
        assert!(
            !seen.contains('\x1b') && !seen.trim_end().contains('\r'),
            "{name}: {seen:?}"
        );
        assert_eq!(seen.contains("working"), name != "CI", "{name}: {seen:?}");
    }
    let env = TestEnv::new();
    let (seen, _) = Terminal::start(&env, 80, &format!("{line} -q")).end();
    assert!(
        !seen.contains("working") && !seen.contains("next:"),
        "{seen:?}"
    );
}

#[test]
fn only_ascii_goes_to_a_terminal_that_is_not_utf8() {
    let env = TestEnv::new();
    let session = env.session("@say grüße 🦀");
    let env = env.with("LANG", "C");
    for line in ["sessions items", "sessions wait"] {
        let (seen, code) = Terminal::start(&env, 100, &format!("{line} {session}")).end();
        assert_eq!(code, 0, "{seen}");
        assert!(seen.is_ascii(), "{seen:?}");
    }
    let piped = env.ok(&format!("sessions items {session} -o json"));
    assert!(piped.contains("grüße 🦀"), "{piped}");
}

#[test]
fn a_deletion_is_confirmed_by_typing_the_id() {
    let env = TestEnv::new();
    let session = env.session("@say hi");
    let delete = format!("sessions delete {session}");
    let answered = |answer: &str| {
        let mut terminal = Terminal::start(&env, 100, &delete);
        terminal.wait_for("to confirm:");
        terminal.type_in(answer);
        terminal.end()
    };
    for answer in ["\n", "y\n", "sess_\n", "\x04"] {
        let (seen, code) = answered(answer);
        assert_eq!(code, 1, "{seen}");
        assert!(seen.contains("nothing happened"), "{seen}");
    }
    let (seen, code) = answered("\x03");
    assert_ne!(code, 0, "{seen}");
    assert_eq!(env.ok("sessions list -o id"), session);
    let (seen, code) = answered(&format!("{session}\n"));
    assert_eq!(code, 0, "{seen}");
    assert_eq!(env.ok("sessions list -o id"), "");
    // Nobody is asked where nobody can answer.
    let env = env.with("CI", "1");
    let other = env.session("@say hi");
    let (seen, code) = Terminal::start(&env, 100, &format!("sessions delete {other}")).end();
    assert_eq!(code, 2, "{seen}");
    assert!(seen.contains("--yes"), "{seen}");
}
