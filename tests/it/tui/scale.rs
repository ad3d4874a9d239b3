//! 100,000 Sessions and 1,000,000 Items: what is made, read and written depends on the screen, not on how many there are.

use std::num::NonZero;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rat_things::api::{AgentSession, Item, MessageContent};
use rat_things::backend::demo::Demo;
use rat_things::backend::memory::clock::ManualClock;
use rat_things::engine::ports::Deployment;
use rat_things::engine::read::{ListQuery, SessionFilter};
use rat_things::text::Glyphs;
use rat_things::tui::filter::Filter;
use rat_things::tui::msg::{Effect, Msg};
use rat_things::tui::sessions::Order;
use rat_things::tui::state::State;
use rat_things::tui::terminal::Thrifty;
use rat_things::tui::update::{start, update};
use rat_things::tui::view::draw;
use rat_things::tui::window::kept_rows;
use rat_things::tui::world::{find, list, look};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::{Terminal, TerminalOptions, Viewport};

use super::samples::{NOW_MS, about, key};

const SIZE: (u16, u16) = (200, 60);
/// The Session with a long history: so many are newer.
const LONG: u64 = 6;

fn world(sessions: u32) -> Demo {
    let clock = Arc::new(ManualClock::new(NOW_MS));
    Demo::new(NonZero::new(sessions).expect("some"), 1, clock)
}

/// Does what the screen asks for until it asks for nothing more.
pub async fn settle(demo: &Demo, state: &mut State, mut effects: Vec<Effect>) {
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
            Effect::Find(ask) => Msg::Found {
                session: ask.session.clone(),
                ticket: ask.ticket,
                result: find(demo, ask).await.map(Box::new).map_err(Into::into),
            },
            _ => continue,
        };
        effects.extend(update(state, msg));
    }
}

/// A screen that has read what it shows first.
async fn opened(demo: &Demo, session: Option<String>) -> State {
    let mut state = State::new(about(Glyphs::Unicode), SIZE, NOW_MS, "seed".into());
    let effects = start(&mut state, session);
    settle(demo, &mut state, effects).await;
    state
}

fn rows_built(state: &State) -> usize {
    let mut buffer = Buffer::empty(Rect::new(0, 0, SIZE.0, SIZE.1));
    draw(state, true, &mut buffer).rows_built
}

async fn press(demo: &Demo, state: &mut State, name: &str) {
    let effects = update(state, key(name));
    settle(demo, state, effects).await;
    let built = rows_built(state);
    // As many columns stand side by side at this size.
    let most = 4 * usize::from(SIZE.1);
    assert!(built <= most, "{built} rows for a screen of {}", SIZE.1);
}

async fn type_in(demo: &Demo, state: &mut State, text: &str) {
    for letter in text.chars() {
        press(demo, state, &letter.to_string()).await;
    }
}

fn selected(state: &State) -> &str {
    &state.sessions.current().expect("a row").id
}

#[tokio::test]
async fn a_list_of_100_000_sessions_is_read_by_pages_and_drawn_by_screens() {
    let demo = world(100_000);
    let mut state = opened(&demo, None).await;
    assert_eq!(demo.pages(), 1, "the first screen is one page");
    assert_eq!(rows_built(&state), state.list_height());
    for _ in 0..200 {
        press(&demo, &mut state, "pgdn").await;
        assert!(state.sessions.window.rows().len() <= kept_rows(state.list_height()));
    }
    let walked = 200 * (state.list_height() as u64 - 1);
    assert_eq!(selected(&state), demo.session_id(99_999 - walked));
    assert!(demo.pages() <= walked / 100 + 3, "{} pages", demo.pages());
    let before = demo.pages();
    for (name, number) in [("G", 0), ("k", 1), ("g", 99_999)] {
        press(&demo, &mut state, name).await;
        assert_eq!(selected(&state), demo.session_id(number), "{name}");
    }
    let read = demo.pages() - before;
    assert!(read <= 3, "{read} pages for both ends");
}

#[tokio::test]
async fn a_search_goes_through_all_sessions_and_says_how_far_it_is() {
    let demo = world(100_000);
    let mut state = opened(&demo, None).await;
    press(&demo, &mut state, "/").await;
    type_in(&demo, &mut state, "audit thumbnails ARM").await;
    press(&demo, &mut state, "enter").await;
    assert_eq!(state.sessions.scanned, 100_000);
    let found: Vec<&str> = state
        .sessions
        .window
        .rows()
        .iter()
        .map(|session| session.id.as_str())
        .collect();
    let filter = Filter::parse("audit thumbnails ARM").expect("words");
    let mut expected = Vec::new();
    let newest = ListQuery {
        limit: 10_000,
        ..ListQuery::default()
    };
    let all = SessionFilter::default();
    let page = demo.list_sessions(&newest, &all).await.expect("lists");
    let is_one = |session: &AgentSession| filter.matches(session);
    expected.extend(page.data.into_iter().filter(is_one).map(|found| found.id));
    assert!(
        (1..found.len() / 2).contains(&expected.len()),
        "{}",
        found.len()
    );
    assert_eq!(found[..expected.len()], expected);
}

/// The step that a message of the user in the long history asks for.
fn step(item: &Item) -> Option<u64> {
    let Item::Message(message) = item else {
        return None;
    };
    let MessageContent::InputText { text } = message.content.first()? else {
        return None;
    };
    let (number, _) = text.strip_prefix("step ")?.split_once(':')?;
    number.parse().ok()
}

#[tokio::test]
async fn a_transcript_of_100_000_items_is_read_by_pages_and_drawn_by_screens() {
    let demo = world(100_000);
    let mut state = opened(&demo, Some(demo.session_id(99_999 - LONG))).await;
    let first = demo.pages();
    assert!(first <= 4, "{first} pages for the first screen");
    let open = state.open.as_ref().expect("it is open");
    let at_first = open.visible(state.look(), state.transcript_height());
    for _ in 0..100 {
        press(&demo, &mut state, "pgup").await;
        let open = state.open.as_ref().expect("it is open");
        assert!(open.items.rows().len() <= kept_rows(state.transcript_height()));
    }
    let open = state.open.as_ref().expect("it is open");
    let top = open.items.rows()[open.anchor.0..].iter().find_map(step);
    let walked = (20_000 - top.expect("a step")) * 5;
    assert!(walked > 1_000, "only {walked} Items up");
    let read = demo.pages() - first;
    assert!(read <= walked / 100 + 4, "{read} pages for {walked} Items");
    for _ in 0..100 {
        press(&demo, &mut state, "pgdn").await;
    }
    let open = state.open.as_ref().expect("it is open");
    assert!(open.follow, "whoever comes to the end follows again");
    let at_last = open.visible(state.look(), state.transcript_height());
    assert_eq!(at_last, at_first);
}

#[tokio::test]
async fn a_search_of_many_items_reads_each_page_once_and_keeps_a_window() {
    let found = |state: &State| {
        let open = state.open.as_ref().expect("it is open");
        assert!(open.items.rows().len() <= kept_rows(state.transcript_height()));
        let lines = open.visible(state.look(), state.transcript_height());
        let line = lines.iter().find(|line| line.found);
        line.map(|line| line.text.as_str().to_owned())
    };
    // One history of a million Items, and one of a hundred thousand that is searched from end to end.
    for (sessions, turns, wanted) in [(1_000_000, 200_000, 198_765), (100_000, 20_000, 15_000)] {
        let demo = world(sessions);
        let newest = u64::from(sessions) - 1;
        let mut state = opened(&demo, Some(demo.session_id(newest - LONG))).await;
        press(&demo, &mut state, "/").await;
        type_in(&demo, &mut state, &format!("STEP {wanted}:")).await;
        let before = demo.pages();
        press(&demo, &mut state, "enter").await;
        let line = found(&state).expect("it is found");
        assert!(line.starts_with(&format!("step {wanted}:")), "{line}");
        let searched = (turns - wanted) * 5 / 100;
        let read = demo.pages() - before;
        assert!(read <= searched + 8, "{read} pages to {wanted}");
        if sessions == 1_000_000 {
            continue;
        }
        press(&demo, &mut state, "/").await;
        type_in(&demo, &mut state, "nowhere to be found").await;
        let before = demo.pages();
        press(&demo, &mut state, "enter").await;
        assert_eq!(found(&state), Some(line), "not moved");
        let says = state.notice.as_deref();
        assert_eq!(says, Some("no \"nowhere to be found\" above"));
        let read = demo.pages() - before;
        assert!(read <= wanted * 5 / 100 + 8, "{read} pages for nothing");
    }
}

#[tokio::test]
async fn nothing_is_drawn_while_nothing_that_is_shown_changes() {
    let demo = world(100_000);
    let mut state = opened(&demo, None).await;
    // The newest Sessions are at work; the oldest were active weeks ago.
    press(&demo, &mut state, "G").await;
    state.dirty = false;
    let mut frames = 0;
    for second in 1..=50 {
        let effects = update(&mut state, Msg::Tick(NOW_MS + second * 1000));
        settle(&demo, &mut state, effects).await;
        frames += usize::from(std::mem::take(&mut state.dirty));
    }
    assert_eq!(frames, 0);
    press(&demo, &mut state, "g").await;
    state.dirty = false;
    update(&mut state, Msg::Tick(NOW_MS + 60_000));
    assert!(state.dirty, "ages of the newest change");
}

/// Counts what is written, and forgets it.
#[derive(Clone, Default)]
struct Counted(Arc<AtomicUsize>);

impl std::io::Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.fetch_add(bytes.len(), Ordering::Relaxed);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn a_frame_that_moved_by_a_row_is_a_few_kilobytes_and_one_that_did_not_move_is_none() {
    let demo = world(100_000);
    let options = TerminalOptions {
        viewport: Viewport::Fixed(Rect::new(0, 0, SIZE.0, SIZE.1)),
    };
    let mut states = [
        opened(&demo, None).await,
        opened(&demo, Some(demo.session_id(99_999 - LONG))).await,
    ];
    for state in &mut states {
        let mut written = Vec::new();
        let bytes = Counted::default();
        let backend = Thrifty::new(bytes.clone());
        let mut terminal = Terminal::with_options(backend, options.clone()).expect("in memory");
        for name in ["pgup", "j", "k", "j", "ctrl-r"] {
            let effects = update(state, key(name));
            settle(&demo, state, effects).await;
            let before = bytes.0.load(Ordering::Relaxed);
            terminal
                .draw(|frame| {
                    draw(state, true, frame.buffer_mut());
                })
                .expect("in memory");
            written.push(bytes.0.load(Ordering::Relaxed) - before);
        }
        let (first, again) = (written[0], written[4]);
        assert!(first > 2_000, "{written:?}");
        assert!(
            written[1..4].iter().all(|size| *size <= 8 << 10),
            "{written:?}"
        );
        // The cursor is put where it was.
        assert!(again <= 64, "{written:?}");
    }
}
