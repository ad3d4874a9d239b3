//! Frames: what it takes to decide a key, build the cells, compare them with the ones before, and make the bytes of the difference.

use std::io::{self, Write};
use std::num::NonZero;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use rat_things::backend::demo::Demo;
use rat_things::backend::memory::clock::ManualClock;
use rat_things::text::Glyphs;
use rat_things::tui::msg::{Effect, Msg};
use rat_things::tui::sessions::Order;
use rat_things::tui::state::{About, State};
use rat_things::tui::terminal::Thrifty;
use rat_things::tui::update::{start, update};
use rat_things::tui::view::draw;
use rat_things::tui::world::{list, look};
use ratatui::layout::Rect;
use ratatui::{Terminal, TerminalOptions, Viewport};

use crate::Size;
use crate::floor::percentile;
use crate::setting::{micros, runtime};
use crate::table::{Budget, Table};

/// Columns and rows.
const SIZE: (u16, u16) = (200, 60);
/// Sessions of the made-up world.
const SESSIONS: u32 = 100_000;
const NOW_MS: u64 = 1_800_000_000_000;

/// A screen, how many Sessions are newer than the one it shows, and keys pressed at first.
type Scene = (&'static str, Option<u64>, &'static [char]);

/// The screens that are measured; Sessions by how many are newer.
const SCENES: [Scene; 4] = [
    ("the list", None, &[]),
    ("a long transcript", Some(6), &[]),
    ("hostile text, unfolded", Some(3), &['z']),
    ("2.7 MB of output, unfolded", Some(4), &['z']),
];

/// Counts what is written, and forgets it.
#[derive(Clone, Default)]
struct Counted(Arc<AtomicUsize>);

impl Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.fetch_add(bytes.len(), Ordering::Relaxed);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn key(code: KeyCode) -> Msg {
    Msg::Key(KeyEvent::new(code, KeyModifiers::NONE))
}

async fn settle(demo: &Demo, state: &mut State, mut effects: Vec<Effect>) {
    while let Some(effect) = effects.pop() {
        let msg = match effect {
            Effect::List {
                ticket,
                at,
                limit,
                order,
                filter,
            } => Msg::Listed {
                ticket,
                result: list(demo, at, limit, order == Order::Oldest, &filter)
                    .await
                    .map_err(Into::into),
            },
            Effect::Look(ask) => Msg::Looked {
                ticket: ask.ticket,
                result: look(demo, ask).await.map(Box::new).map_err(Into::into),
            },
            _ => continue,
        };
        effects.extend(update(state, msg));
    }
}

/// Key by key, from the key to the bytes.
pub fn measure(_: &Path, table: &Table, size: Size) -> io::Result<()> {
    let runtime = runtime()?;
    let frames = size.of(2_000, 100);
    table.part(&format!(
        "a frame at {}x{}, from the key to the bytes, {frames} of each screen",
        SIZE.0, SIZE.1
    ));
    for scene in SCENES {
        runtime.block_on(one(table, frames, scene))?;
    }
    Ok(())
}

async fn one(table: &Table, frames: usize, (name, newer, first): Scene) -> io::Result<()> {
    let clock = Arc::new(ManualClock::new(NOW_MS));
    let demo = Demo::new(
        NonZero::new(SESSIONS).unwrap_or(NonZero::<u32>::MIN),
        1,
        clock,
    );
    let about = About {
        profile: "demo".into(),
        place: "made-up Sessions".into(),
        read_only: false,
        glyphs: Glyphs::Unicode,
        default_model: Some("demo".into()),
        pictures: rat_things::tui::picture::Pictures::Words,
    };
    let session = newer.map(|newer| demo.session_id(u64::from(SESSIONS) - 1 - newer));
    let mut state = State::new(about, SIZE, NOW_MS, "bench".into());
    let effects = start(&mut state, session);
    settle(&demo, &mut state, effects).await;
    for letter in first {
        update(&mut state, key(KeyCode::Char(*letter)));
    }
    let written = Counted::default();
    let area = Rect::new(0, 0, SIZE.0, SIZE.1);
    let options = TerminalOptions {
        viewport: Viewport::Fixed(area),
    };
    let mut terminal = Terminal::with_options(Thrifty::new(written.clone()), options)?;
    let (mut times, mut bytes) = (Vec::new(), Vec::new());
    // Two screens up and down again, over and over, so that every frame moves.
    let step = usize::from(SIZE.1) * 2;
    for frame in 0..frames {
        let code = match (frame / step) % 2 {
            0 if newer.is_none() => KeyCode::Down,
            0 => KeyCode::Up,
            _ if newer.is_none() => KeyCode::Up,
            _ => KeyCode::Down,
        };
        let before = written.0.load(Ordering::Relaxed);
        let begun = Instant::now();
        let effects = update(&mut state, key(code));
        terminal.draw(|frame| {
            draw(&state, true, frame.buffer_mut());
        })?;
        times.push(begun.elapsed());
        bytes.push(written.0.load(Ordering::Relaxed) - before);
        settle(&demo, &mut state, effects).await;
    }
    // The first frame paints all.
    let (times, bytes) = (&times[1..], &mut bytes[1..]);
    bytes.sort_unstable();
    let millis = |percent| micros(percentile(times, percent)) / 1e3;
    let beside = format!(
        "p50 {:.2} ms; {} bytes, at most {}",
        millis(50.0),
        bytes[bytes.len() / 2],
        bytes[bytes.len() - 1]
    );
    let what = format!("{name}, p99");
    table.row(&what, millis(99.0), "ms", &beside, Budget::AtMost(8.0));
    Ok(())
}
