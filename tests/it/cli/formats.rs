//! Every output format of the lists and of one thing, and which part of a list is shown.

use serde_json::Value;

use super::env::TestEnv;
use super::scrub::seen;

const UTC: &str = "[ui]\ntime = 'utc'\n";
const FORMATS: [&str; 7] = ["table", "wide", "tsv", "json", "jsonl", "yaml", "id"];

/// Two Sessions: one with a title, metadata and three Turns, one with nothing.
fn two_sessions(env: &TestEnv) -> (String, String) {
    let first = env.ok(
        "sessions create --environment none --title 'first one' --metadata team=infra --input '@say one' --wait -o id",
    );
    env.ok(&format!(
        "sessions send {first} --input '@reason hm\n@say two' --wait -o id"
    ));
    let failed = env.run(&format!(
        "sessions send {first} --input '@fail server_error it broke' --wait -o id"
    ));
    assert_eq!(failed.code, 1, "{failed:#?}");
    let second = env.ok("sessions create --no-autostart -o id");
    env.scrub().page(&format!("{first} {second}"));
    (first, second)
}

#[test]
fn lists_and_things_are_told_in_every_format() {
    let env = TestEnv::configured(UTC);
    let (first, _) = two_sessions(&env);
    for format in FORMATS {
        let lines = [
            format!("sessions list -o {format}"),
            format!("sessions get {first} -o {format}"),
            format!("sessions items {first} -o {format}"),
            format!("sessions turns {first} -o {format}"),
            format!("sessions events {first} --limit 4 -o {format}"),
        ];
        let page = env.page(&lines.each_ref().map(String::as_str));
        // How long a Turn took differs, and so does the width of its column.
        let folded: Vec<String> = page.lines().map(fold).collect();
        seen!(format!("formats-{format}"), folded.join("\n"));
    }
}

/// A line with spans named and blanks folded.
fn fold(line: &str) -> String {
    let is_span = |word: &str| {
        word.strip_suffix("ms")
            .or_else(|| word.strip_suffix('s'))
            .is_some_and(|n| {
                n.starts_with(|c: char| c.is_ascii_digit())
                    && n.bytes().all(|b| b.is_ascii_digit() || b == b'.')
            })
    };
    let indent = line.len() - line.trim_start().len();
    let words: Vec<&str> = line
        .split(' ')
        .filter(|word| !word.is_empty())
        .map(|word| if is_span(word) { "[span]" } else { word })
        .collect();
    // In tab-separated values the span of a Turn is a number of its own.
    let joined = words.join(" ");
    let fields: Vec<&str> = joined.split('\t').collect();
    let joined = match fields.as_slice() {
        [turn, status, started, _, rest @ ..] if turn.starts_with("turn_") => {
            [&[*turn, status, started, "[span]"], rest]
                .concat()
                .join("\t")
        }
        _ => joined,
    };
    format!("{:indent$}{joined}", "")
}

#[test]
fn json_in_all_its_forms_says_the_same() {
    let env = TestEnv::new();
    let (first, _) = two_sessions(&env);
    let json = env.json(&format!("sessions items {first}"));
    assert_eq!(
        env.ok(&format!("sessions items {first} --json")),
        json.to_string()
    );
    let lines = env.ok(&format!("sessions items {first} -o jsonl"));
    let lines: Vec<Value> = lines
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    assert_eq!(json["data"], Value::Array(lines));
    let yaml = env.ok(&format!("sessions items {first} -o yaml"));
    let yaml: Value = serde_yaml_ng::from_str(&yaml).expect("YAML");
    assert_eq!(yaml, json);
    let ids = env.ok(&format!("sessions items {first} -o id"));
    let listed: Vec<&str> = json["data"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|i| i["id"].as_str())
        .collect();
    assert_eq!(ids.lines().collect::<Vec<_>>(), listed);
    assert_eq!(
        (json["first_id"].as_str(), json["last_id"].as_str()),
        (listed.first().copied(), listed.last().copied())
    );
    assert_eq!(json["object"], "list");
}

#[test]
fn parts_of_a_list_follow_one_another() {
    let env = TestEnv::new();
    let all: Vec<String> = (0..7)
        .map(|n| {
            env.ok(&format!(
                "sessions create --no-autostart --metadata n={n} -o id"
            ))
        })
        .collect();
    let newest: Vec<&str> = all.iter().rev().map(String::as_str).collect();
    let ids = |line: &str| -> Vec<String> { env.ok(line).lines().map(str::to_owned).collect() };
    assert_eq!(ids("sessions list -o id"), newest);
    assert_eq!(ids("sessions list --order asc -o id"), all);
    assert_eq!(ids("sessions list --all --limit 2 -o id"), newest);
    let first = env.run("sessions list --limit 3 -o id");
    assert_eq!(first.stdout.lines().collect::<Vec<_>>(), newest[..3]);
    assert_eq!(
        first.stderr,
        format!("more: --after {} (or --all)\n", newest[2])
    );
    let second = env.run(&format!(
        "sessions list --limit 3 --after {} -o id",
        newest[2]
    ));
    assert_eq!(second.stdout.lines().collect::<Vec<_>>(), newest[3..6]);
    let last = env.run(&format!(
        "sessions list --limit 3 --after {} -o id",
        newest[5]
    ));
    assert_eq!(
        (last.stdout.trim_end(), last.stderr.as_str()),
        (newest[6], "")
    );
    let up = env.run(&format!(
        "sessions list --order asc --after {} -o id --all",
        all[4]
    ));
    assert_eq!(up.stdout.lines().collect::<Vec<_>>(), all[5..]);
    assert_eq!(ids("sessions list --metadata n=3 -o id"), [all[3].clone()]);
    assert!(ids("sessions list --status in_progress -o id").is_empty());
    assert_eq!(
        ids("sessions list --status idle --status failed --limit 100 -o id").len(),
        7
    );
    assert!(
        env.json("sessions list --limit 2")["has_more"]
            .as_bool()
            .expect("says so")
    );
    let unknown = env.run("sessions list --after sess_aaaaaaaaaaaaaaaaaaaaaaaaaa");
    assert_eq!(unknown.code, 3, "{unknown:#?}");
    let quiet = env.run("sessions list --limit 3 -o id -q");
    assert_eq!(
        (quiet.stderr.as_str(), quiet.stdout.lines().count()),
        ("", 3)
    );
}

#[test]
fn parts_of_a_transcript_follow_one_another() {
    let env = TestEnv::new();
    let (session, _) = two_sessions(&env);
    let all: Vec<String> = env
        .ok(&format!("sessions items {session} -o id"))
        .lines()
        .map(str::to_owned)
        .collect();
    assert_eq!(all.len(), 6, "{all:?}");
    for kind in ["items", "turns", "events"] {
        let line = format!("sessions {kind} {session} -o id");
        let all = env.ok(&format!("{line} --all"));
        let all: Vec<&str> = all.lines().collect();
        let mut seen: Vec<String> = Vec::new();
        loop {
            let after = seen
                .last()
                .map_or(String::new(), |id| format!(" --after {id}"));
            let page = env.run(&format!("{line} --limit 2{after}"));
            seen.extend(page.stdout.lines().map(str::to_owned));
            if page.stderr.is_empty() {
                break;
            }
            assert!(
                page.stderr
                    .contains(seen.last().expect("a page is not empty")),
                "{page:#?}"
            );
        }
        assert_eq!(seen, all, "{kind}");
    }
    let turns = env.ok(&format!("sessions turns {session} --order asc -o id"));
    let second = turns.lines().nth(1).expect("three turns");
    let of_second = env.ok(&format!(
        "sessions items {session} --turn {} -o id",
        &second[..14]
    ));
    assert_eq!(of_second.lines().collect::<Vec<_>>(), all[2..5]);
    let followed = env.ok(&format!("sessions items {session} --follow -o id"));
    assert_eq!(followed.lines().collect::<Vec<_>>(), all);
    let rest = env.ok(&format!(
        "sessions items {session} --follow --after {} -o jsonl",
        all[3]
    ));
    assert_eq!(rest.lines().count(), 2);
    let events = env.ok(&format!("sessions events {session} --all -o id"));
    assert_eq!(
        env.ok(&format!("sessions events {session} --follow -o id")),
        events
    );
}

#[test]
fn the_beginning_of_an_id_is_enough_while_it_names_one_thing() {
    let env = TestEnv::new();
    let (first, second) = two_sessions(&env);
    let common = first
        .bytes()
        .zip(second.bytes())
        .take_while(|(a, b)| a == b)
        .count();
    assert_eq!(
        env.json(&format!("sessions get {}", &first[..common + 1]))["id"],
        first.as_str()
    );
    assert_eq!(
        env.json(&format!("sessions get {}", &first["sess_".len()..]))["id"],
        first.as_str()
    );
    let both = env.run(&format!("sessions get {}", &first[..common]));
    assert_eq!(both.code, 2, "{both:#?}");
    assert!(
        both.stderr.contains(&first) && both.stderr.contains(&second),
        "{both:#?}"
    );
    let none = env.run("sessions get sess_zzzzzzz");
    assert_eq!(none.code, 3, "{none:#?}");
}
