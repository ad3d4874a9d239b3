//! What agents and tools write can be meant for the terminal of who reads it. It never gets there raw.

use serde_json::Value;

use super::env::TestEnv;
use super::terminal::Terminal;

/// Clears the screen, sets the title, moves the cursor, hides, reverses, rings; and an 8-bit control.
const EVIL: &str =
    "a\x1b[2J\x1b]0;owned\x07b\u{9b}31mc\u{202e}d\u{200b}e\u{feff}f\rg\u{8}h\u{e0041}i";

/// A Session whose message, title, command and function names are hostile.
fn hostile(env: &TestEnv) -> String {
    let request = serde_json::json!({
        "environment": {"type": "none"},
        "agent": {"model": format!("m{EVIL}"), "instructions": EVIL},
        "metadata": {"title": EVIL, (EVIL.chars().take(5).collect::<String>()): EVIL},
        "input": format!("@reason {EVIL}\n@say {EVIL}"),
    });
    let ran = env.run_with(
        "sessions create -f - --wait -o id",
        request.to_string().as_bytes(),
    );
    assert_eq!(ran.code, 0, "{ran:#?}");
    ran.stdout.trim_end().to_owned()
}

/// Whether a terminal would act on, or not show, anything in this; colours of ours are taken out first.
fn harmless(text: &str) -> Result<(), char> {
    let mut plain = String::new();
    let mut rest = text;
    // Ours: `ESC [ <digits> m`.
    while let Some(at) = rest.find("\x1b[") {
        let (before, from) = rest.split_at(at);
        plain.push_str(before);
        let end = from.find('m').unwrap_or(0);
        let digits = from.get(2..end).unwrap_or("x");
        let is_ours = end > 2 && digits.bytes().all(|b| b.is_ascii_digit());
        if !is_ours {
            return Err('\x1b');
        }
        rest = &from[end + 1..];
    }
    plain.push_str(rest);
    let bad = |c: char| {
        (c.is_control() && c != '\n' && c != '\t')
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
    };
    plain.chars().find(|c| bad(*c)).map_or(Ok(()), Err)
}

#[test]
fn tables_and_transcripts_are_harmless_and_json_keeps_every_character() {
    let env = TestEnv::new();
    let session = hostile(&env);
    for line in [
        format!("sessions items {session}"),
        format!("sessions get {session}"),
        "sessions list".to_owned(),
        format!("sessions turns {session}"),
        format!("sessions events {session}"),
        format!("sessions wait {session}"),
        format!("sessions items {session} --follow"),
        format!("sessions explain {session}"),
        "outbox list".to_owned(),
        format!("runs list {session}"),
    ] {
        for format in ["table", "wide", "tsv", "yaml"] {
            for color in ["always", "never"] {
                let ran = env.run(&format!("{line} -o {format} --color {color}"));
                assert_eq!(ran.code, 0, "{ran:#?}");
                for text in [&ran.stdout, &ran.stderr] {
                    assert_eq!(harmless(text), Ok(()), "{line} -o {format}: {text:?}");
                }
            }
        }
    }
    let items = env.json(&format!("sessions items {session}"));
    let texts: Vec<&str> = items["data"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|item| item.pointer("/content/0/text").and_then(Value::as_str))
        .collect();
    assert!(texts.iter().any(|text| *text == EVIL.trim()), "{texts:?}");
    let resource = env.json(&format!("sessions get {session}"));
    assert_eq!(resource["metadata"]["title"], EVIL);
}

#[test]
fn a_terminal_gets_nothing_raw_in_any_format() {
    let env = TestEnv::new();
    let session = hostile(&env);
    for line in [
        "sessions items",
        "sessions get",
        "sessions wait",
        "sessions explain",
    ] {
        for format in ["table", "tsv", "json", "jsonl", "yaml"] {
            let (seen, _) = Terminal::start(
                &env,
                80,
                &format!("{line} {session} -o {format} --color never"),
            )
            .end();
            assert_eq!(harmless(&seen), Ok(()), "{line} -o {format}: {seen:?}");
            assert!(!seen.is_empty());
        }
    }
}

#[test]
fn output_of_commands_is_as_harmless_as_words() {
    let env = TestEnv::new();
    let ran = env.run_with(
        "sessions create --input - --wait -o table --color never",
        b"@exec printf 'x\\033[2J\\033]0;owned\\007y\\302\\233z\\342\\200\\256\\n'; touch \"$(printf '/workspace/outputs/a\\033[31mb')\"\n@say done",
    );
    assert_eq!(ran.code, 0, "{ran:#?}");
    assert_eq!(harmless(&ran.stdout), Ok(()), "{:?}", ran.stdout);
    let session = env.ok("sessions list -o id");
    for format in ["table", "tsv"] {
        let listed = env.ok(&format!("sessions artifacts {session} -o {format}"));
        assert_eq!(harmless(&listed), Ok(()), "{listed:?}");
    }
}

#[test]
fn errors_repeat_what_was_typed_harmlessly() {
    let env = TestEnv::new();
    for words in [
        vec!["sessions", "get", EVIL],
        vec![EVIL],
        vec!["sessions", "list", "--limit", EVIL],
        vec!["help", EVIL],
        vec!["-P", EVIL, "sessions", "list"],
        vec!["sessions", "create", "-f", EVIL],
        vec!["artifacts", "get", "sess_a", EVIL],
    ] {
        for format in ["tsv", "json"] {
            let child = env
                .command(words.iter().copied().chain(["-o", format]))
                .spawn()
                .expect("starts");
            let ran = env.finish("", child);
            assert_ne!(ran.code, 0, "{ran:#?}");
            if format == "tsv" {
                assert_eq!(harmless(&ran.stderr), Ok(()), "{:?}", ran.stderr);
            } else {
                let error: Value = serde_json::from_str(&ran.stderr).expect("one JSON object");
                assert_eq!(error["error"]["exit_code"], ran.code);
            }
        }
    }
}
