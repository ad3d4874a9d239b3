//! A server that goes away and comes back while a Session is looked at: what was read stays, its age is told, nothing waits for it, and then nothing is missing and
//! nothing is there twice.

use rat_things::api::{HasId, Item};
use rat_things::text::Glyphs;
use rat_things::tui::msg::{Effect, Look, LookAsk, Msg, Trouble};
use rat_things::tui::state::State;
use rat_things::tui::update::update;
use rat_things::tui::window::{Chunk, Where};

use super::drawn::drawn;
use super::samples::{NOW, NOW_MS, command, list, message, press, session, turn};

const SIZE: (u16, u16) = (80, 24);
const ID: &str = "sess_7fk2c4v8w2n6r3t0yxbhek5zq1";
/// Items read at once.
const PAGE: usize = 100;

/// What a server has, and whether it answers.
struct Server {
    items: Vec<Item>,
    answers: bool,
}

impl Server {
    fn new(items: usize) -> Server {
        let items = (0..items).map(Server::item).collect();
        Server {
            items,
            answers: true,
        }
    }

    fn item(n: usize) -> Item {
        message(&format!("msg_{n:05}"), "turn_1", &format!("line {n}"))
    }

    fn look(&self, ask: &LookAsk) -> Msg {
        let ticket = ask.ticket;
        if !self.answers {
            let words = "the server is gone".to_owned();
            let unknown = false;
            let result = Err(Trouble { words, unknown });
            return Msg::Looked { ticket, result };
        }
        let place = |id: &str| self.items.iter().position(|item| item.id() == Some(id));
        let chunk = ask.items.clone().map(|at| {
            let all = self.items.len();
            let (from, to, more) = match &at {
                Where::Start => (0, PAGE.min(all), PAGE < all),
                Where::End => (all.saturating_sub(PAGE), all, PAGE < all),
                Where::After(id) => {
                    let from = place(id).expect("it is there") + 1;
                    let to = (from + PAGE).min(all);
                    (from, to, to < all)
                }
                Where::Before(id) => {
                    let to = place(id).expect("it is there");
                    let from = to.saturating_sub(PAGE);
                    (from, to, from > 0)
                }
            };
            let rows = self.items[from..to].to_vec();
            let ids = |item: Option<&Item>| item.and_then(HasId::id).map(str::to_owned);
            let cursor = match at {
                Where::Start | Where::After(_) => ids(rows.last()),
                Where::End | Where::Before(_) => ids(rows.first()),
            };
            let scanned = rows.len();
            Chunk {
                at,
                rows,
                more,
                cursor,
                scanned,
            }
        });
        let look = Look {
            session: Some(session(ID, "in_progress", None, NOW)),
            turns: vec![turn("turn_1", "in_progress")],
            newest: vec!["turn_1".into()],
            items: chunk,
        };
        let result = Ok(Box::new(look));
        Msg::Looked { ticket, result }
    }

    /// Answers what is asked, and what that leads to, as long as something is. Answers how many looks that were.
    fn serve(&self, state: &mut State, effects: Vec<Effect>) -> usize {
        let (mut asked, mut looks) = (effects, 0);
        while let Some(effect) = asked.pop() {
            if let Effect::Look(ask) = effect {
                looks += 1;
                assert!(looks < 50, "it asks for ever");
                asked.extend(update(state, self.look(&ask)));
            }
        }
        looks
    }
}

fn open(server: &Server) -> State {
    let mut state = list(SIZE, Glyphs::Unicode);
    let effects = press(&mut state, &["enter"]);
    server.serve(&mut state, effects);
    state
}

fn lost() -> Msg {
    Msg::Signs {
        session: ID.into(),
        result: Err(Trouble {
            words: "the connection broke".into(),
            unknown: false,
        }),
    }
}

/// The ids that are held are a piece of what the server has, in its order, each once.
fn is_whole(state: &State, server: &Server) {
    let open = state.open.as_ref().expect("it is open");
    let held: Vec<_> = open.items.rows().iter().map(HasId::id).collect();
    let all: Vec<_> = server.items.iter().map(HasId::id).collect();
    let from = all.iter().position(|id| Some(id) == held.first());
    let from = from.expect("its first is one of the server's");
    assert_eq!(held, all[from..from + held.len()]);
}

/// So many seconds go by.
fn seconds(state: &mut State, server: &Server, n: u64) -> usize {
    let from = state.now_ms;
    let ticks = 1..=n;
    ticks
        .map(|second| {
            let effects = update(state, Msg::Tick(from + second * 1_000));
            server.serve(state, effects)
        })
        .sum()
}

#[test]
fn a_session_that_is_followed_catches_up_when_its_server_is_back() {
    let mut server = Server::new(30);
    server
        .items
        .push(command("cmd_1", "turn_1", "in_progress", None, ""));
    let mut state = open(&server);
    server.answers = false;
    let effects = update(&mut state, lost());
    server.serve(&mut state, effects);
    let looks = seconds(&mut state, &server, 30);
    assert!(
        (5..=20).contains(&looks),
        "it is tried again, and not all the time: {looks}"
    );
    let shown = drawn(&state, true);
    assert!(
        shown.contains("not read for 30s") && shown.contains("line 29"),
        "{shown}"
    );
    press(&mut state, &["k", "k"]);
    assert!(
        drawn(&state, true).contains("not following"),
        "nothing waits for the server"
    );
    press(&mut state, &["F"]);
    server.items[30] = command("cmd_1", "turn_1", "completed", Some(0), "done\n");
    server.items.extend((31..400).map(Server::item));
    server.answers = true;
    seconds(&mut state, &server, 3);
    is_whole(&state, &server);
    let shown = drawn(&state, true);
    assert!(
        shown.contains("line 399") && shown.contains("live"),
        "{shown}"
    );
    let open = state.open.as_ref().expect("it is open");
    let place = open.items.place_of("cmd_1");
    let now = place.map(|place| &open.items.rows()[place]);
    assert!(
        now.is_none_or(|now| *now == server.items[30]),
        "what changed meanwhile is seen"
    );
}

#[test]
fn a_reader_stays_where_they_are_and_finds_everything_below() {
    let mut server = Server::new(300);
    let mut state = open(&server);
    let effects = press(&mut state, &["pgup", "pgup"]);
    server.serve(&mut state, effects);
    let look = state.look();
    let top = |state: &State| state.open.as_ref().expect("it is open").visible(look, 10);
    let before = top(&state);
    server.answers = false;
    let effects = update(&mut state, lost());
    server.serve(&mut state, effects);
    seconds(&mut state, &server, 12);
    server.items.extend((300..330).map(Server::item));
    server.answers = true;
    seconds(&mut state, &server, 3);
    assert_eq!(top(&state), before);
    is_whole(&state, &server);
    let effects = press(&mut state, &["F"]);
    server.serve(&mut state, effects);
    assert!(drawn(&state, true).contains("line 329"));
    is_whole(&state, &server);
}

#[test]
fn an_answer_that_does_not_come_is_told_and_nothing_waits_for_it() {
    let server = Server::new(30);
    let mut state = open(&server);
    let effects = update(&mut state, lost());
    assert!(matches!(&effects[..], [Effect::Look(_)]), "{effects:?}");
    update(&mut state, Msg::Tick(NOW_MS + 8_000));
    let shown = drawn(&state, true);
    assert!(
        shown.contains("no answer for 8s") && shown.contains("line 29"),
        "{shown}"
    );
    press(&mut state, &["g"]);
    assert!(drawn(&state, true).contains("line 0"));
    server.serve(&mut state, effects);
    assert!(drawn(&state, true).contains("live"));
}
