//! Text from agents can't steer the terminal: what is drawn goes through a parser of terminals and changes nothing but cells.

use rat_things::api::SessionArtifact;
use rat_things::text::Glyphs;
use rat_things::tui::msg::{Effect, Msg};
use rat_things::tui::reading::{Head, Seen};
use rat_things::tui::records::{Check, Verdict};
use rat_things::tui::state::State;
use rat_things::tui::terminal::Thrifty;
use rat_things::tui::update::update;
use rat_things::tui::view;
use rat_things::tui::window::{Chunk, Where};
use ratatui::Terminal;
use serde_json::json;

use super::samples::{NOW, command, listed, looked, message, press, screen, session, turn};

const ATTACK: &str = "a\x1b[2J\x1b[?1049l\x1b]0;owned\x07\x1b]52;c;ZXZpbA==\x07\x1b[5;5Hb\u{9b}31m\u{202e}evil\u{200b}\x08\x07\r\x1bc";

fn size(cells: u16) -> std::num::NonZero<u16> {
    std::num::NonZero::new(cells).expect("a terminal has cells")
}

/// What a terminal of this size shows of a screen.
fn shown(state: &State) -> vt100::Screen {
    let mut bytes = Vec::new();
    let area = ratatui::layout::Rect::new(0, 0, state.size.0, state.size.1);
    let options = ratatui::TerminalOptions {
        viewport: ratatui::Viewport::Fixed(area),
    };
    let mut terminal =
        Terminal::with_options(Thrifty::new(&mut bytes), options).expect("in memory");
    terminal
        .draw(|frame| {
            view::draw(state, true, frame.buffer_mut());
        })
        .expect("in memory");
    drop(terminal);
    assert!(
        !bytes.contains(&0x07) && !bytes.windows(2).any(|pair| pair == b"\x1b]"),
        "a bell or an operating system command"
    );
    let mut parser = vt100::Parser::new(size(state.size.1), size(state.size.0), 0);
    parser.process(b"\x1b[?1049h");
    parser.process(&bytes);
    parser.screen().clone()
}

#[test]
fn hostile_titles_and_items_are_shown_and_change_nothing_else() {
    for glyphs in [Glyphs::Unicode, Glyphs::Ascii, Glyphs::SevenBit] {
        let mut state = screen((80, 24), glyphs);
        let mut hostile = session("sess_a", "in_progress", Some(ATTACK), NOW);
        hostile.agent.model = ATTACK.into();
        update(&mut state, listed(1, vec![hostile.clone()]));
        let list = shown(&state);
        assert!(list.alternate_screen(), "it left the screen");
        assert!(
            list.contents().contains("rat-things"),
            "it erased the screen: {}",
            list.contents()
        );
        press(&mut state, &["enter"]);
        let items = vec![
            message("msg_1", "turn_1", ATTACK),
            command("cmd_1", "turn_1", "completed", Some(0), ATTACK),
        ];
        update(
            &mut state,
            looked(1, hostile, vec![turn("turn_1", "in_progress")], items),
        );
        press(&mut state, &["z"]);
        let open = shown(&state);
        let contents = open.contents();
        assert!(open.alternate_screen());
        for expected in [
            "rat-things",
            "sess_a",
            "command  cargo test",
            "agent",
            "evil",
        ] {
            assert!(
                contents.contains(expected),
                "{expected} is gone: {contents}"
            );
        }
        for hidden in ['\u{202e}', '\u{200b}', '\u{9b}'] {
            assert!(
                !contents.contains(hidden),
                "{hidden:?} was drawn: {contents}"
            );
        }
    }
}

/// Reads one thing with this key, and answers what a terminal shows then.
fn after(state: &mut State, key: &str, seen: Seen) -> vt100::Screen {
    let effects = press(state, &[key]);
    let ticket = effects.iter().find_map(|effect| match effect {
        Effect::Read { ticket, .. } => Some(*ticket),
        _ => None,
    });
    let ticket = ticket.expect("something is read");
    let result = Ok(Box::new(seen));
    update(state, Msg::Read { ticket, result });
    shown(state)
}

fn is_harmless(screen: &vt100::Screen, expected: &str) {
    let contents = screen.contents();
    assert!(screen.alternate_screen(), "it left the screen");
    assert!(
        contents.contains("rat-things"),
        "it erased the screen: {contents}"
    );
    assert!(
        contents.contains(expected),
        "{expected} is gone: {contents}"
    );
    for hidden in ['\u{202e}', '\u{200b}', '\u{9b}'] {
        assert!(
            !contents.contains(hidden),
            "{hidden:?} was drawn: {contents}"
        );
    }
}

#[test]
fn hostile_functions_artifacts_and_deliveries_change_nothing_else_either() {
    for glyphs in [Glyphs::Unicode, Glyphs::Ascii, Glyphs::SevenBit] {
        let mut state = screen((80, 24), glyphs);
        let mut hostile = session("sess_a", "requires_action", Some(ATTACK), NOW);
        hostile.required_actions = serde_json::from_value(json!([{
            "type": "function_call", "call_id": ATTACK, "name": ATTACK, "turn_id": "turn_1", "arguments": {ATTACK: ATTACK},
        }]))
        .expect("it is of this shape");
        update(&mut state, listed(1, vec![hostile.clone()]));
        press(&mut state, &["enter"]);
        let items = vec![message("msg_1", "turn_1", ATTACK)];
        update(
            &mut state,
            looked(1, hostile, vec![turn("turn_1", "waiting")], items),
        );
        for keys in [
            &["a"][..],
            &["r"],
            &["esc", "esc", "K", "d"],
            &["tab"],
            &["esc"],
        ] {
            press(&mut state, keys);
            is_harmless(&shown(&state), "rat-things");
        }
        let artifact: SessionArtifact = serde_json::from_value(json!({
            "id": "artf_1", "created_at": NOW, "environment_id": ATTACK, "object": "agent.session.artifact",
            "path": ATTACK, "session_id": "sess_a", "size_bytes": 9, "turn_id": ATTACK,
        }))
        .expect("it is of this shape");
        let chunk = Chunk {
            at: Where::Start,
            rows: vec![artifact],
            more: false,
            cursor: None,
            scanned: 1,
        };
        is_harmless(&after(&mut state, "5", Seen::Artifacts(chunk)), "PATH");
        for name in [ATTACK.to_owned(), format!("\"{ATTACK}\",b\n")] {
            let head = Head {
                bytes: name.into_bytes(),
                whole: true,
                picture: None,
            };
            is_harmless(&after(&mut state, "enter", Seen::Head(head)), "line 1 of");
            press(&mut state, &["esc"]);
        }
        press(&mut state, &["s"]);
        is_harmless(&shown(&state), "Save this Artifact");
        press(&mut state, &["esc"]);
        let checks = vec![Check {
            name: ATTACK.into(),
            verdict: Verdict::Failed,
            found: ATTACK.into(),
            fixes: vec![ATTACK.into()],
        }];
        is_harmless(&after(&mut state, "6", Seen::Checks(checks)), "failed");
    }
}
