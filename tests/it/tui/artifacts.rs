//! Artifacts of a Session: listed, shown as far as they can be, saved where a person says.

use std::sync::Arc;

use rat_things::api::SessionArtifact;
use rat_things::text::Glyphs;
use rat_things::tui::action::Place;
use rat_things::tui::artifacts::Preview;
use rat_things::tui::layers::Layer;
use rat_things::tui::msg::{Effect, Msg, Trouble};
use rat_things::tui::picture::{Picture, Pictures, Protocol};
use rat_things::tui::reading::{Head, ReadAsk, Seen};
use rat_things::tui::save::{NotSaved, SaveAsk, Saving};
use rat_things::tui::state::State;
use rat_things::tui::update::update;
use rat_things::tui::view::draw;
use rat_things::tui::window::{Chunk, Where};
use rat_things::tui::world::World;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Color;
use serde_json::json;
use tokio::sync::mpsc;

use super::drawn::{all, drawn};
use super::fake::Fake;
use super::samples::{NOW, NOW_MS, list, opened, press, type_in};

const SIZE: (u16, u16) = (80, 24);
const ID: &str = "sess_7fk2c4v8w2n6r3t0yxbhek5zq1";

fn artifact(n: usize, path: &str, size_bytes: u64) -> SessionArtifact {
    serde_json::from_value(json!({
        "id": format!("artf_4v8w2n6r3t0yxbhek5zq1m9k2{n}"), "created_at": NOW - 60, "environment_id": "env_3h1p",
        "object": "agent.session.artifact", "path": path, "session_id": ID, "size_bytes": size_bytes,
        "turn_id": "turn_1",
    }))
    .expect("it is of this shape")
}

fn asked(effects: &[Effect]) -> (u64, ReadAsk) {
    let [Effect::Read { ticket, ask }] = effects else {
        panic!("one thing is read: {effects:?}");
    };
    (*ticket, ask.clone())
}

fn tell(state: &mut State, ticket: u64, seen: Result<Seen, Trouble>) {
    let result = seen.map(Box::new);
    update(state, Msg::Read { ticket, result });
}

/// The list, with an Artifact of every kind.
fn artifacts(size: (u16, u16), glyphs: Glyphs) -> State {
    let mut state = opened(size, glyphs);
    let (ticket, ask) = asked(&press(&mut state, &["5"]));
    let session = ID.to_owned();
    let at = Where::Start;
    assert_eq!(
        ask,
        ReadAsk::Artifacts {
            session,
            at: at.clone()
        }
    );
    let rows: Vec<SessionArtifact> = [
        ("report.md", 4_198),
        ("bench.csv", 88_064),
        ("patch-0007.diff", 6_144),
        ("flame.png", 217_088),
        ("trace.json.gz", 922_624),
        ("notes.txt", 1_228),
    ]
    .into_iter()
    .enumerate()
    .map(|(n, (name, size))| artifact(n, &format!("/workspace/outputs/{name}"), size))
    .collect();
    let chunk = Chunk {
        at,
        scanned: rows.len(),
        rows,
        more: false,
        cursor: None,
    };
    let result = Ok(Box::new(Seen::Artifacts(chunk)));
    let effects = update(&mut state, Msg::Read { ticket, result });
    // Where there is room, the first bytes of the selected one are asked for at once.
    assert_eq!(effects.len(), usize::from(size.0 >= 120), "{effects:?}");
    if !effects.is_empty() {
        let head = Head {
            bytes: b"# Report\n\nThe importer reads a **stream** now.\n".to_vec(),
            whole: true,
            picture: None,
        };
        tell(&mut state, asked(&effects).0, Ok(Seen::Head(head)));
    }
    state
}

/// The preview of the `n`th, whose first bytes are these.
fn preview(size: (u16, u16), glyphs: Glyphs, n: usize, bytes: &[u8]) -> State {
    let mut state = artifacts(size, glyphs);
    press(&mut state, &vec!["j"; n]);
    let (ticket, _) = asked(&press(&mut state, &["enter"]));
    let head = Head {
        bytes: bytes.to_vec(),
        whole: true,
        picture: None,
    };
    tell(&mut state, ticket, Ok(Seen::Head(head)));
    state
}

fn saved(effects: &[Effect]) -> SaveAsk {
    let [Effect::Save(ask)] = effects else {
        panic!("one file is written: {effects:?}");
    };
    ask.clone()
}

fn is(state: &mut State, ticket: u64, saving: Saving) {
    update(state, Msg::Saving { ticket, saving });
}

#[test]
fn the_selected_artifact_is_asked_for_and_shown() {
    let mut state = artifacts(SIZE, Glyphs::Unicode);
    let (ticket, ask) = asked(&press(&mut state, &["j", "enter"]));
    let (session, artifact) = (ID.to_owned(), artifact(1, "", 0).id);
    let rests = false;
    assert_eq!(
        ask,
        ReadAsk::Head {
            session,
            artifact,
            rests,
            picture: false,
        }
    );
    assert!(drawn(&state, true).contains("reading"));
    let trouble = Trouble {
        words: "the server is gone".into(),
        unknown: false,
    };
    tell(&mut state, ticket, Err(trouble));
    assert!(drawn(&state, true).contains("not read: the server is gone"));
    press(&mut state, &["esc", "esc"]);
    assert_eq!(state.place(), Place::Session);
}

#[test]
fn an_artifact_is_saved_where_it_is_typed_and_its_progress_is_seen() {
    let mut state = artifacts(SIZE, Glyphs::Unicode);
    assert_eq!(press(&mut state, &["s"]), []);
    assert!(
        drawn(&state, true).contains(&artifact(0, "", 0).id),
        "the whole id is shown"
    );
    press(&mut state, &["ctrl-u"]);
    type_in(&mut state, "docs/report.md");
    let ask = saved(&press(&mut state, &["enter"]));
    assert_eq!((&*ask.to, ask.replace), ("docs/report.md", false));
    is(&mut state, ask.ticket, Saving::Bytes(2_099));
    assert!(
        drawn(&state, true).contains("50%"),
        "{}",
        drawn(&state, true)
    );
    is(
        &mut state,
        ask.ticket,
        Saving::Done("docs/report.md".into()),
    );
    assert_eq!(state.place(), Place::Artifacts);
    assert!(
        drawn(&state, true).contains("saved docs/report.md, 4.1 KiB"),
        "{}",
        drawn(&state, true)
    );
}

#[test]
fn a_file_that_is_there_already_goes_only_when_somebody_says_so() {
    let mut state = artifacts(SIZE, Glyphs::Unicode);
    let ask = saved(&press(&mut state, &["s", "enter"]));
    is(&mut state, ask.ticket, Saving::Not(NotSaved::Taken));
    assert_eq!(state.place(), Place::SaveTaken);
    for harmless in ["enter", "esc", "y", "s"] {
        let mut state = state.clone();
        assert_eq!(press(&mut state, &[harmless]), [], "{harmless}");
    }
    let again = saved(&press(&mut state, &["r"]));
    assert!(again.replace);
    assert_eq!(again.to, ask.to);
}

#[test]
fn what_is_given_up_is_not_told_as_saved() {
    let mut state = artifacts(SIZE, Glyphs::Unicode);
    let ask = saved(&press(&mut state, &["s", "enter"]));
    assert_eq!(press(&mut state, &["esc"]), [Effect::StopSaving]);
    is(&mut state, ask.ticket, Saving::Bytes(7));
    assert_eq!(state.place(), Place::Save);
    assert!(drawn(&state, true).contains("given up; nothing is left of it"));
    let because = NotSaved::Because("no space is left".into());
    let ask = saved(&press(&mut state, &["enter"]));
    is(&mut state, ask.ticket, Saving::Not(because));
    assert!(drawn(&state, true).contains("not saved: no space is left"));
}

#[test]
fn an_odd_name_of_an_artifact_is_not_offered_as_a_file_name() {
    for odd in ["/workspace/outputs/..", "/", "/workspace/outputs/a\x1b[2J"] {
        let save = rat_things::tui::save::Save::new(artifact(0, odd, 1));
        assert_eq!(save.field.text(), "", "{odd:?}");
    }
}

#[test]
fn the_list_shows_those_of_the_selected_session_too() {
    let mut state = list(SIZE, Glyphs::Unicode);
    let (_, ask) = asked(&press(&mut state, &["j", "5"]));
    let expected = "sess_7f9qc4v8w2n6r3t0yxbhek5zq1";
    assert!(
        matches!(&ask, ReadAsk::Artifacts { session, .. } if session == expected),
        "{ask:?}"
    );
    press(&mut state, &["esc"]);
    assert_eq!(state.place(), Place::Sessions);
}

#[test]
fn the_list_is_read_again_while_it_is_seen() {
    let mut state = artifacts(SIZE, Glyphs::Unicode);
    let effects = update(&mut state, Msg::Tick(NOW_MS + 2_000));
    let again = effects.iter().any(|effect| {
        matches!(
            effect,
            Effect::Read {
                ask: ReadAsk::Artifacts { .. },
                ..
            }
        )
    });
    assert!(again, "{effects:?}");
}

#[test]
fn a_list_whose_reading_was_given_up_for_a_preview_is_read_again_behind_it() {
    let mut state = artifacts(SIZE, Glyphs::Unicode);
    let is_list = |effects: &[Effect]| {
        effects.iter().any(|effect| {
            matches!(
                effect,
                Effect::Read {
                    ask: ReadAsk::Artifacts { .. },
                    ..
                }
            )
        })
    };
    assert!(is_list(&update(&mut state, Msg::Tick(NOW_MS + 2_000))));
    let effects = update(&mut state, Msg::Tick(NOW_MS + 4_000));
    assert!(!is_list(&effects), "it is on its way already");
    press(&mut state, &["enter", "esc"]);
    assert!(is_list(&update(&mut state, Msg::Tick(NOW_MS + 6_000))));
}

#[tokio::test]
async fn a_world_without_files_saves_nothing_and_says_so() {
    let (tell, mut told) = mpsc::channel(8);
    let (workers, _) = mpsc::channel(1);
    let mut world = World::new(Arc::new(Fake::new(0, 0)), tell, workers);
    world.perform(Effect::Save(SaveAsk {
        ticket: 1,
        session: ID.into(),
        artifact: "artf_1".into(),
        to: "a".into(),
        replace: false,
    }));
    let Some(Msg::Saving { ticket: 1, saving }) = told.recv().await else {
        panic!("it is told");
    };
    assert!(
        matches!(saving, Saving::Not(NotSaved::Because(_))),
        "{saving:?}"
    );
}

#[test]
fn the_selected_one_is_shown_beside_the_list_and_follows_the_selection() {
    let mut state = artifacts((120, 40), Glyphs::Unicode);
    assert!(drawn(&state, true).contains("The importer reads a **stream** now."));
    let (first, _) = asked(&press(&mut state, &["j"]));
    assert!(!drawn(&state, true).contains("stream"), "it is another one");
    let (second, ask) = asked(&press(&mut state, &["j"]));
    assert!(matches!(ask, ReadAsk::Head { rests: true, .. }), "{ask:?}");
    let head = |bytes: &[u8]| {
        Ok(Seen::Head(Head {
            bytes: bytes.to_vec(),
            whole: true,
            picture: None,
        }))
    };
    tell(&mut state, first, head(b"late"));
    assert!(
        !drawn(&state, true).contains("late"),
        "the late one is let go"
    );
    tell(&mut state, second, head(b"+one\n"));
    assert!(drawn(&state, true).contains("+one"));
    // What is there already is not read again.
    assert_eq!(press(&mut state, &["enter"]), []);
    assert_eq!(state.place(), Place::Preview);
    let paged = press(&mut state, &["o"]);
    assert!(
        matches!(&paged[..], [Effect::Page(text)] if text == "+one\n"),
        "{paged:?}"
    );
}

/// An image of two colours, one above the other.
fn image() -> Picture {
    Picture {
        width: 2,
        height: 2,
        rgba: Arc::new([[200, 0, 0, 255].repeat(2), [0, 0, 200, 255].repeat(2)].concat()),
    }
}

fn with_image(pictures: Pictures, picture: Result<Picture, String>) -> State {
    let mut state = opened(SIZE, Glyphs::Unicode);
    state.about.pictures = pictures;
    let artifact = artifact(3, "/workspace/outputs/flame.png", 217_088);
    let mut preview = Preview::new(artifact, 7);
    let mut png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
    png.extend([0, 0, 0, 2, 0, 0, 0, 2]);
    preview.read(Ok(Head {
        bytes: png,
        whole: true,
        picture: Some(picture),
    }));
    state.layers.push(Layer::Preview(Box::new(preview)));
    state
}

#[test]
fn an_image_is_half_blocks_where_a_terminal_has_no_pixels() {
    for (pictures, upper, lower) in [
        (
            Pictures::FineBlocks,
            Color::Rgb(200, 0, 0),
            Color::Rgb(0, 0, 200),
        ),
        (Pictures::Blocks, Color::Indexed(160), Color::Indexed(20)),
    ] {
        let state = with_image(pictures, Ok(image()));
        let mut buffer = Buffer::empty(Rect::new(0, 0, SIZE.0, SIZE.1));
        let drawn = draw(&state, true, &mut buffer);
        assert!(drawn.placed.is_none());
        let blocks: Vec<_> = buffer
            .content()
            .iter()
            .filter(|cell| cell.symbol() == "\u{2580}")
            .collect();
        assert!(blocks.len() > 100, "{}", blocks.len());
        assert!(blocks.iter().any(|cell| cell.fg == upper), "{pictures:?}");
        assert!(blocks.iter().any(|cell| cell.bg == lower), "{pictures:?}");
        assert!(blocks.iter().all(|cell| cell.fg != Color::Reset));
    }
}

#[test]
fn an_image_is_told_in_words_where_colours_or_characters_lack_and_when_it_is_broken() {
    let mut state = with_image(Pictures::FineBlocks, Ok(image()));
    let words = "It is not drawn here: save it to look at it.";
    assert!(drawn(&state, false).contains(words));
    state.about.glyphs = Glyphs::Ascii;
    assert!(drawn(&state, true).contains(words));
    let broken = with_image(Pictures::FineBlocks, Err("its end is missing".into()));
    assert!(drawn(&broken, true).contains("It is not drawn here: its end is missing."));
}

#[test]
fn pixels_have_a_place_of_their_own_that_nothing_is_drawn_into() {
    let mut state = with_image(Pictures::Pixels(Protocol::Kitty), Ok(image()));
    state.cell = (10, 20);
    let mut buffer = Buffer::empty(Rect::new(0, 0, SIZE.0, SIZE.1));
    let placed = draw(&state, true, &mut buffer)
        .placed
        .expect("it has a place");
    // As wide as high, in cells of twice the height.
    assert_eq!(placed.area.width, placed.area.height * 2);
    for y in placed.area.top()..placed.area.bottom() {
        for x in placed.area.left()..placed.area.right() {
            assert_eq!(buffer[(x, y)].symbol(), " ", "{x} {y}");
        }
    }
    // A question above it would lie below the pixels.
    press(&mut state, &["s"]);
    let mut buffer = Buffer::empty(Rect::new(0, 0, SIZE.0, SIZE.1));
    assert!(draw(&state, true, &mut buffer).placed.is_none());
}

#[test]
fn the_list_of_artifacts() {
    insta::assert_snapshot!(all(artifacts));
}

#[test]
fn the_question_where_an_artifact_is_saved() {
    insta::assert_snapshot!(all(|size, glyphs| {
        let mut state = artifacts(size, glyphs);
        press(&mut state, &["s"]);
        state
    }));
}

#[test]
fn the_question_about_a_file_that_is_there_and_one_that_is_written() {
    let mut page = String::new();
    for saving in [Saving::Not(NotSaved::Taken), Saving::Bytes(1_000)] {
        let mut state = artifacts(SIZE, Glyphs::Unicode);
        let ask = saved(&press(&mut state, &["s", "enter"]));
        is(&mut state, ask.ticket, saving);
        page.push_str(&drawn(&state, true));
    }
    insta::assert_snapshot!(page);
}

#[test]
fn previews_of_every_kind() {
    let mut png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
    png.extend([0, 0, 2, 128, 0, 0, 1, 224]);
    let heads: [&[u8]; 6] = [
        b"# Report\n\nThe importer reads a **stream** now.\n\n```\nlet all = read(src)?;\n```\n> as asked\n",
        b"reader,peak,\"time, s\"\nbuffered,41 GB,372\nstream,38 MB,358\n",
        b"diff --git a/src/a.rs b/src/a.rs\n--- a/src/a.rs\n+++ b/src/a.rs\n@@ -1,2 +1,2 @@\n-let all = read(src)?;\n+for row in rows(src) {\n",
        &png,
        b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff\xab\x56",
        b"plain words\x1b[2J\n",
    ];
    let mut page = String::new();
    for (n, head) in heads.into_iter().enumerate() {
        page.push_str(&drawn(&preview(SIZE, Glyphs::Unicode, n, head), true));
    }
    let mut as_bytes = preview(SIZE, Glyphs::Ascii, 5, heads[5]);
    press(&mut as_bytes, &["tab"]);
    page.push_str(&drawn(&as_bytes, true));
    insta::assert_snapshot!(page);
}
