//! What the screens of the tests show.

use rat_things::api::{AgentSession, Item, Subagent, Turn};
use rat_things::engine::overhear::Joins;
use rat_things::engine::ports::LivePart;
use rat_things::engine::ports::{Signs, Written};
use rat_things::text::Glyphs;
use rat_things::tui::msg::{Effect, Look, Msg};
use rat_things::tui::state::{About, State};
use rat_things::tui::update::{start, update};
use rat_things::tui::window::{Chunk, Where};
use serde_json::{Value, json};

/// Now, Unix milliseconds.
pub const NOW_MS: u64 = 1_800_000_600_000;
/// Now, Unix seconds.
pub const NOW: u64 = NOW_MS / 1000;

fn read<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).expect("it is of this shape")
}

pub fn session(id: &str, status: &str, title: Option<&str>, active: u64) -> AgentSession {
    let metadata = title.map_or(json!({}), |title| json!({"title": title}));
    read(json!({
        "id": id,
        "agent": {
            "id": "agent_1", "instructions": null, "model": "demo",
            "multi_agent": {"enabled": false, "max_concurrent_subagents": 1}, "name": null,
            "reasoning": {"effort": "high", "summary": "auto"}, "service_tier": "auto",
            "text": {"format": {"type": "text"}, "verbosity": "medium"}, "tools": [],
        },
        "created_at": active, "environment": {"type": "none"}, "error": null,
        "last_active_at": active, "metadata": metadata, "object": "agent.session",
        "required_actions": [], "status": status, "usage": null, "vault_ids": [],
    }))
}

pub fn numbered_session(n: usize) -> AgentSession {
    session(
        &format!("sess_{n:07}"),
        "idle",
        Some(&format!("title {n}")),
        NOW - 60,
    )
}

pub fn turn(id: &str, status: &str) -> Turn {
    let over = matches!(status, "completed" | "failed" | "cancelled");
    let began = status != "queued";
    let error = (status == "failed")
        .then(|| json!({"code": "internal_error", "message": "the model did not answer"}));
    read(json!({
        "id": id, "agent_id": "agent_1", "completed_at": over.then_some(NOW - 290), "created_at": NOW - 300,
        "error": error, "object": "agent.session.turn", "session_id": "sess_a",
        "started_at": began.then_some(NOW - 300), "status": status, "subagent_id": null, "usage": null,
    }))
}

pub fn subagent(id: &str, status: &str, name: Option<&str>, told: &str) -> Subagent {
    read(json!({
        "id": id, "closed_at": (status == "closed").then_some(NOW - 100),
        "instructions": [{"type": "output_text", "text": told}], "name": name,
        "object": "agent.session.subagent", "opened_at": NOW - 200, "parent_agent_id": "agent_1",
        "session_id": "sess_a", "status": status,
    }))
}

fn said(id: &str, turn: &str, role: &str, kind: &str, text: &str) -> Item {
    read(json!({
        "type": "message", "id": id, "content": [{"type": kind, "text": text}], "phase": null,
        "role": role, "status": "completed", "turn_id": turn,
    }))
}

pub fn message(id: &str, turn: &str, text: &str) -> Item {
    said(id, turn, "assistant", "output_text", text)
}

pub fn asked(id: &str, turn: &str, text: &str) -> Item {
    said(id, turn, "user", "input_text", text)
}

pub fn command(id: &str, turn: &str, status: &str, exit_code: Option<i32>, output: &str) -> Item {
    read(json!({
        "type": "command_execution", "id": id, "command": "cargo test --workspace", "cwd": "/workspace",
        "duration_ms": (status != "in_progress").then_some(1_234), "exit_code": exit_code, "output": output,
        "status": status, "turn_id": turn,
    }))
}

pub fn reasoning(id: &str, turn: &str, text: &str) -> Item {
    read(json!({
        "type": "reasoning", "id": id, "status": "completed",
        "summary": [{"type": "summary_text", "text": text}], "turn_id": turn,
    }))
}

pub fn about(glyphs: Glyphs) -> About {
    About {
        profile: "default".into(),
        place: "/home/me/.local/share/rat-things".into(),
        read_only: false,
        glyphs,
        default_model: Some("demo".into()),
        pictures: rat_things::tui::picture::Pictures::Words,
    }
}

/// A screen of this size that asked for its first rows.
pub fn screen(size: (u16, u16), glyphs: Glyphs) -> State {
    let mut state = State::new(about(glyphs), size, NOW_MS, "seed".into());
    let effects = start(&mut state, None);
    assert!(
        matches!(
            &effects[..],
            [Effect::List {
                ticket: 1,
                at: Where::Start,
                ..
            }]
        ),
        "{effects:?}"
    );
    state
}

pub fn listed(ticket: u64, rows: Vec<AgentSession>) -> Msg {
    let cursor = rows.last().map(|row| row.id.clone());
    Msg::Listed {
        ticket,
        result: Ok(Chunk {
            at: Where::Start,
            scanned: rows.len(),
            rows,
            more: false,
            cursor,
        }),
    }
}

pub fn looked(ticket: u64, session: AgentSession, turns: Vec<Turn>, items: Vec<Item>) -> Msg {
    Msg::Looked {
        ticket,
        result: Ok(Box::new(Look {
            session: Some(session),
            newest: turns.iter().map(|turn| turn.id.clone()).collect(),
            turns,
            items: Some(Chunk {
                at: Where::End,
                scanned: items.len(),
                rows: items,
                more: false,
                cursor: None,
            }),
        })),
    }
}

/// A list with one Session of every kind.
pub fn list(size: (u16, u16), glyphs: Glyphs) -> State {
    let mut state = screen(size, glyphs);
    let rows = vec![
        session(
            "sess_7fk2c4v8w2n6r3t0yxbhek5zq1",
            "in_progress",
            Some("refactor the billing importer, so that it reads a stream and not a file"),
            NOW - 12,
        ),
        session(
            "sess_7f9qc4v8w2n6r3t0yxbhek5zq1",
            "requires_action",
            Some("approve: npm publish @acme/ui 4.2.0"),
            NOW - 40,
        ),
        session(
            "sess_7f8dc4v8w2n6r3t0yxbhek5zq1",
            "idle",
            Some("日本語の題"),
            NOW - 60,
        ),
        session("sess_7f31c4v8w2n6r3t0yxbhek5zq1", "idle", None, NOW - 7200),
        session(
            "sess_7e0ac4v8w2n6r3t0yxbhek5zq1",
            "failed",
            Some("write a runbook"),
            NOW - 90_000,
        ),
        session(
            "sess_7dzzc4v8w2n6r3t0yxbhek5zq1",
            "budget_reached",
            Some("triage"),
            NOW - 900_000,
        ),
    ];
    update(&mut state, listed(1, rows));
    state
}

/// A Session at work, with an Item of every kind.
pub fn opened(size: (u16, u16), glyphs: Glyphs) -> State {
    let mut state = list(size, glyphs);
    let effects = update(&mut state, key("enter"));
    assert!(
        matches!(&effects[..], [Effect::Watch(_), Effect::Look(_)]),
        "{effects:?}"
    );
    let mut session = session(
        "sess_7fk2c4v8w2n6r3t0yxbhek5zq1",
        "in_progress",
        Some("refactor the billing importer"),
        NOW - 12,
    );
    session.required_actions = read(json!([
        {"type": "function_call", "arguments": {"ticket": 7}, "call_id": "call_1", "name": "lookup", "turn_id": "turn_2"},
    ]));
    let items = vec![
        asked(
            "msg_1",
            "turn_1",
            "make the importer read a stream\nand keep its tests green",
        ),
        reasoning(
            "rs_1",
            "turn_1",
            "The importer reads whole files.\nA stream needs a parser that can be interrupted.\nSo the parser comes first.\nThen the reader.",
        ),
        command(
            "cmd_1",
            "turn_1",
            "failed",
            Some(101),
            "test a ... ok\ntest b ... FAILED\n",
        ),
        message(
            "msg_2",
            "turn_1",
            "One test fails, because it expects the whole file. I change it so that it feeds the parser in pieces; that is what the stream does, too, and it shows that no record is lost where two pieces meet.",
        ),
        asked("msg_3", "turn_2", "go on"),
        command("cmd_2", "turn_2", "in_progress", None, ""),
    ];
    let turns = vec![
        turn("turn_1", "completed"),
        turn("turn_2", "in_progress"),
        turn("turn_3", "queued"),
    ];
    update(&mut state, looked(1, session, turns, items));
    update(
        &mut state,
        Msg::Signs {
            session: "sess_7fk2c4v8w2n6r3t0yxbhek5zq1".into(),
            result: Ok(Signs {
                written: vec![Written {
                    item_id: "cmd_2".into(),
                    part: LivePart::Output,
                    joins: Joins::Directly,
                    text: "running 12 tests\ntest a ... ok\n".into(),
                }],
                notes: Vec::new(),
            }),
        },
    );
    state
}

/// A key by its name in the table.
pub fn key(name: &str) -> Msg {
    use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
    let (modifiers, name) = match name.split_once('-') {
        Some(("ctrl", rest)) if !rest.is_empty() => (KeyModifiers::CONTROL, rest),
        Some(("alt", rest)) if !rest.is_empty() => (KeyModifiers::ALT, rest),
        _ => (KeyModifiers::NONE, name),
    };
    let code = match name {
        "enter" => KeyCode::Enter,
        "esc" => KeyCode::Esc,
        "space" => KeyCode::Char(' '),
        "tab" => KeyCode::Tab,
        "shift-tab" => KeyCode::BackTab,
        "backspace" => KeyCode::Backspace,
        "delete" => KeyCode::Delete,
        "left" => KeyCode::Left,
        "right" => KeyCode::Right,
        "up" => KeyCode::Up,
        "down" => KeyCode::Down,
        "home" => KeyCode::Home,
        "end" => KeyCode::End,
        "pgup" => KeyCode::PageUp,
        "pgdn" => KeyCode::PageDown,
        other => {
            let mut letters = other.chars();
            let (Some(c), None) = (letters.next(), letters.next()) else {
                panic!("{other} is no key");
            };
            KeyCode::Char(c)
        }
    };
    Msg::Key(KeyEvent::new(code, modifiers))
}

/// Keys one after the other; the effects of all.
pub fn press(state: &mut State, names: &[&str]) -> Vec<Effect> {
    names
        .iter()
        .flat_map(|name| update(state, key(name)))
        .collect()
}

/// Letters one after the other.
pub fn type_in(state: &mut State, text: &str) {
    for c in text.chars() {
        update(state, key(&c.to_string()));
    }
}
