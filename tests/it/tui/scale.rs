//! 100,000 Sessions and 100,000 Items: what is made and what is read depends on the screen, not on how many there are.

use rat_things::text::Glyphs;
use rat_things::tui::msg::{Effect, Msg};
use rat_things::tui::sessions::Order;
use rat_things::tui::state::State;
use rat_things::tui::update::{start, update};
use rat_things::tui::view::draw;
use rat_things::tui::window::kept_rows;
use rat_things::tui::world::{find, list, look};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::fake::Fake;
use super::samples::{NOW_MS, about, key};

const SIZE: (u16, u16) = (200, 60);

/// Does what the screen asks for until it asks for nothing more.
async fn settle(fake: &Fake, state: &mut State, mut effects: Vec<Effect>) {
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
                result: list(fake, at, limit, order == Order::Oldest, &filter)
                    .await
                    .map_err(Into::into),
            },
            Effect::Look(ask) => Msg::Looked {
                ticket: ask.ticket,
                result: look(fake, ask).await.map(Box::new).map_err(Into::into),
            },
            Effect::Find(ask) => Msg::Found {
                session: ask.session.clone(),
                ticket: ask.ticket,
                result: find(fake, ask).await.map(Box::new).map_err(Into::into),
            },
            _ => continue,
        };
        effects.extend(update(state, msg));
    }
}

fn rows_built(state: &State) -> usize {
    let mut buffer = Buffer::empty(Rect::new(0, 0, SIZE.0, SIZE.1));
    draw(state, true, &mut buffer).rows_built
}

async fn press(fake: &Fake, state: &mut State, name: &str) {
    let effects = update(state, key(name));
    settle(fake, state, effects).await;
    let built = rows_built(state);
    assert!(
        built <= usize::from(SIZE.1),
        "{built} rows for a screen of {}",
        SIZE.1
    );
}

#[tokio::test]
async fn a_list_of_100_000_sessions_is_read_by_pages_and_drawn_by_screens() {
    let fake = Fake::new(100_000, 0);
    let mut state = State::new(about(Glyphs::Unicode), SIZE, NOW_MS, "seed".into());
    let effects = start(&mut state, None);
    settle(&fake, &mut state, effects).await;
    assert_eq!(fake.pages(), 1, "the first screen is one page");
    assert_eq!(rows_built(&state), state.list_height());
    for _ in 0..200 {
        press(&fake, &mut state, "pgdn").await;
        assert!(state.sessions.window.rows().len() <= kept_rows(state.list_height()));
    }
    let walked = 200 * (state.list_height() - 1);
    assert_eq!(
        state.sessions.current().expect("a row").id,
        format!("sess_{:07}", 99_999 - walked)
    );
    assert!(fake.pages() <= walked / 100 + 3, "{} pages", fake.pages());
    let before = fake.pages();
    press(&fake, &mut state, "G").await;
    assert_eq!(state.sessions.current().expect("a row").id, "sess_0000000");
    press(&fake, &mut state, "k").await;
    assert_eq!(state.sessions.current().expect("a row").id, "sess_0000001");
    press(&fake, &mut state, "g").await;
    assert_eq!(state.sessions.current().expect("a row").id, "sess_0099999");
    assert!(
        fake.pages() <= before + 3,
        "{} pages for both ends",
        fake.pages() - before
    );
}

#[tokio::test]
async fn a_search_goes_through_all_sessions_and_says_how_far_it_is() {
    let fake = Fake::new(100_000, 0);
    let mut state = State::new(about(Glyphs::Unicode), SIZE, NOW_MS, "seed".into());
    let effects = start(&mut state, None);
    settle(&fake, &mut state, effects).await;
    for name in ["/", "t", "i", "t", "l", "e", " ", "7", "7", "7", "7"] {
        press(&fake, &mut state, name).await;
    }
    press(&fake, &mut state, "enter").await;
    assert_eq!(state.sessions.scanned, 100_000);
    let found: Vec<&str> = state
        .sessions
        .window
        .rows()
        .iter()
        .map(|s| s.id.as_str())
        .collect();
    let expected: Vec<String> = (0..100_000_usize)
        .rev()
        .filter(|n| n.to_string().contains("7777"))
        .map(|n| format!("sess_{n:07}"))
        .collect();
    assert_eq!(found, expected);
}

#[tokio::test]
async fn a_transcript_of_100_000_items_is_read_by_pages_and_drawn_by_screens() {
    let fake = Fake::new(1, 100_000);
    let mut state = State::new(about(Glyphs::Unicode), SIZE, NOW_MS, "seed".into());
    let effects = start(&mut state, Some("sess_0000000".into()));
    settle(&fake, &mut state, effects).await;
    let first = fake.pages();
    assert!(first <= 3, "{first} pages for the first screen");
    for _ in 0..100 {
        press(&fake, &mut state, "pgup").await;
        let open = state.open.as_ref().expect("it is open");
        assert!(open.items.rows().len() <= kept_rows(state.transcript_height()));
    }
    let walked = 100 * (state.transcript_height() - 1);
    let open = state.open.as_ref().expect("it is open");
    let top = open.visible(state.look(), 1);
    let expected = 100_000 - state.transcript_height() - walked;
    assert_eq!(top[0].text.as_str(), format!("line {expected}"));
    assert!(
        fake.pages() - first <= walked / 100 + 3,
        "{} pages",
        fake.pages()
    );
    for _ in 0..100 {
        press(&fake, &mut state, "pgdn").await;
    }
    let open = state.open.as_ref().expect("it is open");
    assert!(open.follow, "whoever comes to the end follows again");
    let lines = open.visible(state.look(), state.transcript_height());
    assert_eq!(lines.last().expect("a line").text.as_str(), "line 99999");
}

#[tokio::test]
async fn a_search_of_1_000_000_items_reads_each_page_once_and_keeps_a_window() {
    let fake = Fake::new(1, 1_000_000);
    let mut state = State::new(about(Glyphs::Unicode), SIZE, NOW_MS, "seed".into());
    let effects = start(&mut state, Some("sess_0000000".into()));
    settle(&fake, &mut state, effects).await;
    let found = |state: &State| {
        let open = state.open.as_ref().expect("it is open");
        assert!(open.items.rows().len() <= kept_rows(state.transcript_height()));
        let lines = open.visible(state.look(), state.transcript_height());
        let line = lines.iter().find(|line| line.found);
        line.map(|line| line.text.as_str().to_owned())
    };
    for name in ["/", "N", "E", " ", "9", "8", "7", "6", "5"] {
        press(&fake, &mut state, name).await;
    }
    let before = fake.pages();
    press(&fake, &mut state, "enter").await;
    assert_eq!(found(&state).as_deref(), Some("line 987659"));
    let searched = (1_000_000 - 987_659) / 100;
    assert!(
        fake.pages() - before <= searched + 8,
        "{} pages",
        fake.pages() - before
    );
    press(&fake, &mut state, "n").await;
    assert_eq!(found(&state).as_deref(), Some("line 987658"));
    for name in ["/", "n", "o", "w", "h", "e", "r", "e"] {
        press(&fake, &mut state, name).await;
    }
    let before = fake.pages();
    press(&fake, &mut state, "enter").await;
    assert_eq!(found(&state).as_deref(), Some("line 987658"), "not moved");
    assert_eq!(state.notice.as_deref(), Some("no \"nowhere\" above"));
    assert!(
        fake.pages() - before <= 987_659 / 100 + 8,
        "{} pages",
        fake.pages() - before
    );
}

#[tokio::test]
async fn nothing_is_drawn_while_nothing_that_is_shown_changes() {
    let fake = Fake::new(100_000, 0);
    let mut state = State::new(about(Glyphs::Unicode), SIZE, NOW_MS, "seed".into());
    let effects = start(&mut state, None);
    settle(&fake, &mut state, effects).await;
    state.dirty = false;
    let mut frames = 0;
    // All Sessions were active a minute ago, so their age is one minute for 59 seconds more.
    for second in 1..=50 {
        let effects = update(&mut state, Msg::Tick(NOW_MS + second * 1000));
        settle(&fake, &mut state, effects).await;
        frames += usize::from(std::mem::take(&mut state.dirty));
    }
    assert_eq!(frames, 0);
    update(&mut state, Msg::Tick(NOW_MS + 61_000));
    assert!(state.dirty, "two minutes");
}
