//! The screen in lines (`ACCESSIBLE=1`): what is told and what can be typed, over the made-up world.

use std::num::NonZero;
use std::sync::Arc;

use rat_things::backend::demo::Demo;
use rat_things::backend::memory::clock::ManualClock;
use rat_things::engine::ports::Deployment;
use rat_things::text::Glyphs;
use rat_things::tui::linear::ask::typed;
use rat_things::tui::linear::tell::Told;
use rat_things::tui::msg::{Effect, Msg};
use rat_things::tui::state::State;
use rat_things::tui::update::{start, update};

use super::samples::{NOW_MS, about};
use super::scale::settle;

/// Somebody who reads and types lines.
struct Reader {
    demo: Demo,
    clock: Arc<ManualClock>,
    state: State,
    told: Told,
    copied: Vec<String>,
}

impl Reader {
    async fn new() -> (Reader, Vec<String>) {
        let clock = Arc::new(ManualClock::new(NOW_MS));
        let demo = Demo::new(NonZero::new(30).expect("some"), 1, clock.clone());
        let mut state = State::new(about(Glyphs::Unicode), (2_000, 60), NOW_MS, "seed".into());
        let effects = start(&mut state, None);
        let mut reader = Reader {
            demo,
            clock,
            state,
            told: Told::default(),
            copied: Vec::new(),
        };
        let lines = reader.perform(effects).await;
        (reader, lines)
    }

    /// Does what is asked for, messages too, and answers what is told then.
    async fn perform(&mut self, effects: Vec<Effect>) -> Vec<String> {
        let mut reads = Vec::new();
        for effect in effects {
            let told = match effect {
                Effect::Send {
                    session,
                    key,
                    event,
                } => {
                    let result = self.demo.send(&session, &key, &[*event]).await;
                    Msg::Sent {
                        session,
                        key,
                        result: result.map_err(Into::into),
                        note: None,
                    }
                }
                Effect::Create { key, params } => {
                    let created = self.demo.create_session(&key, &params).await;
                    let result = created.map(Box::new).map_err(Into::into);
                    let note = None;
                    Msg::Created { key, result, note }
                }
                Effect::Copy(text) => {
                    self.copied.push(text);
                    continue;
                }
                effect => {
                    reads.push(effect);
                    continue;
                }
            };
            reads.extend(update(&mut self.state, told));
        }
        settle(&self.demo, &mut self.state, reads).await;
        self.told.news(&self.state)
    }

    async fn types(&mut self, line: &str) -> Vec<String> {
        let answer = typed(&mut self.state, &mut self.told, line);
        let mut lines = answer.says;
        lines.extend(self.perform(answer.effects).await);
        lines
    }

    /// Time passes; the Session is looked at again.
    async fn waits(&mut self, by_ms: u64) -> Vec<String> {
        let now_ms = self.clock.advance(by_ms);
        let mut effects = update(&mut self.state, Msg::Tick(now_ms));
        if let Some(open) = &mut self.state.open {
            effects.extend(open.look_at_news(now_ms));
        }
        self.perform(effects).await
    }
}

/// Lines that a screen reader reads: no controls, no frames.
fn are_plain(lines: &[String]) {
    for line in lines {
        let odd = |c: char| c.is_control() || ('\u{2500}'..='\u{259f}').contains(&c);
        assert!(!line.contains(odd), "{line:?}");
    }
}

#[tokio::test]
async fn sessions_are_told_ten_at_a_time_under_numbers() {
    let (mut reader, first) = Reader::new().await;
    are_plain(&first);
    assert_eq!(first.len(), 11, "{first:#?}");
    assert!(
        first[0].starts_with("1. running, write the report of the quarter"),
        "{first:#?}"
    );
    assert_eq!(first[10], "10 so far; n tells the next");
    assert_eq!(
        reader.waits(5_000).await,
        [] as [String; 0],
        "nothing is told twice"
    );
    let second = reader.types("n").await;
    assert!(second[0].starts_with("11. "), "{second:#?}");
    let third = reader.types("n").await;
    assert_eq!(
        third.last().map(String::as_str),
        Some("30, and that is all")
    );
}

#[tokio::test]
async fn a_session_is_told_once_and_goes_on_as_it_happens() {
    let (mut reader, _) = Reader::new().await;
    let opened = reader.types("3").await;
    are_plain(&opened);
    assert!(
        opened[0].contains("find out why the nightly build is slow, running"),
        "{opened:#?}"
    );
    let later = reader.waits(30_000).await;
    assert!(
        later.iter().any(|line| line.starts_with("command: ")),
        "{later:#?}"
    );
    assert!(
        later.iter().all(|line| !opened.contains(line)),
        "{later:#?}"
    );
    let over = reader.waits(400_000).await;
    assert!(
        over.iter().any(|line| line.ends_with(" is done")),
        "{over:#?}"
    );
    let back = reader.types("b").await;
    assert!(back[0].starts_with("1. "), "{back:#?}");
}

#[tokio::test]
async fn messages_are_sent_and_cancels_ask_first() {
    let (mut reader, _) = Reader::new().await;
    reader.types("1").await;
    let sent = reader.types("m and a summary, please").await;
    assert!(sent.iter().any(|line| line.contains("rcpt_")), "{sent:#?}");
    let asked = reader.types("x").await;
    assert!(
        asked[0].starts_with("cancel turn_") && asked[0].contains("sess_"),
        "{asked:#?}"
    );
    let kept = reader.types("no").await;
    assert!(
        kept.iter().any(|line| line.ends_with("goes on")),
        "{kept:#?}"
    );
    reader.types("x").await;
    let gone = reader.types("c").await;
    assert!(
        gone.iter().any(|line| line.ends_with(" is cancelled")),
        "{gone:#?}"
    );
}

#[tokio::test]
async fn hostile_text_is_told_harmlessly_and_what_is_waited_for_is_said() {
    let (mut reader, _) = Reader::new().await;
    let hostile = reader.types("4").await;
    are_plain(&hostile);
    assert!(
        hostile.iter().any(|line| line.contains("owned")),
        "{hostile:#?}"
    );
    reader.types("b").await;
    let waits = reader.types("2").await;
    assert!(
        waits.iter().any(|line| line.starts_with("waits: for ")),
        "{waits:#?}"
    );
}

#[tokio::test]
async fn what_is_waited_for_is_answered_after_a_question() {
    let (mut reader, _) = Reader::new().await;
    reader.types("2").await;
    let asked = reader.types("a").await;
    are_plain(&asked);
    assert!(
        asked[0].starts_with("the agent waits for the function "),
        "{asked:#?}"
    );
    assert!(
        asked
            .iter()
            .any(|line| line.contains("turn_") && line.contains("sess_"))
    );
    assert!(
        asked.iter().any(|line| line.starts_with("r RESULT")),
        "{asked:#?}"
    );
    let left = reader.types("whatever").await;
    assert_eq!(left, ["it is left open"]);
    reader.types("a").await;
    let empty = reader.types("r").await;
    assert!(
        empty[0].starts_with("what is answered is written"),
        "{empty:#?}"
    );
    let sent = reader.types("r the account is 7").await;
    assert!(sent.iter().any(|line| line.contains("rcpt_")), "{sent:#?}");
}

#[tokio::test]
async fn an_approval_is_given_by_a_letter_that_belongs_to_it() {
    let (mut reader, _) = Reader::new().await;
    reader.types("6").await;
    let asked = reader.types("a").await;
    assert!(
        asked.iter().any(|line| line.starts_with("a ")),
        "{asked:#?}"
    );
    assert!(
        !asked.iter().any(|line| line.starts_with("r RESULT")),
        "{asked:#?}"
    );
    let approved = reader.types("a").await;
    assert!(
        approved.iter().any(|line| line.contains("rcpt_")),
        "{approved:#?}"
    );
}

#[tokio::test]
async fn a_session_is_described_asked_about_and_created() {
    let (mut reader, _) = Reader::new().await;
    let form = reader.types("c").await;
    assert_eq!(form[0], "a new Session", "{form:#?}");
    let changed = reader.types("message look into the nightly build").await;
    assert_eq!(changed, ["message: look into the nightly build"]);
    let changed = reader.types("title nightly").await;
    assert_eq!(changed, ["title: nightly"]);
    let asked = reader.types("ok").await;
    assert_eq!(asked, ["c creates this Session; any other line goes back"]);
    let back = reader.types("no").await;
    assert_eq!(back, ["? says what changes it; ok goes on; b leaves it"]);
    reader.types("ok").await;
    let created = reader.types("c").await;
    assert!(
        created.iter().any(|line| line.contains("nightly, running")),
        "{created:#?}"
    );
}

#[tokio::test]
async fn ids_and_texts_are_copied_in_lines_too() {
    let (mut reader, first) = Reader::new().await;
    let id = first[1].rsplit(' ').next().unwrap_or_default().to_owned();
    let says = reader.types("y 2").await;
    assert!(says[0].contains("clipboard"), "{says:#?}");
    reader.types("5").await;
    reader.types("y").await;
    reader.types("Y").await;
    assert_eq!(reader.copied.len(), 3);
    assert_eq!(reader.copied[0], id);
    assert!(reader.copied[2].starts_with("sess_"));
    assert_eq!(reader.types("b").await.len(), 11);
    assert_eq!(
        reader.types("y 99").await,
        ["no Session with this number was told"]
    );
}

#[tokio::test]
async fn in_read_only_mode_lines_change_nothing() {
    let (mut reader, _) = Reader::new().await;
    reader.state.about.read_only = true;
    let refused = ["nothing can be changed: read-only mode is on"];
    assert_eq!(reader.types("c").await, refused);
    reader.types("2").await;
    for line in ["a", "x", "m hello"] {
        assert_eq!(reader.types(line).await, refused, "{line}");
    }
}

#[tokio::test]
async fn what_came_before_is_told_on_request_and_mistakes_are_said() {
    let (mut reader, _) = Reader::new().await;
    for (line, says) in [
        ("99", "no Session 99 was told"),
        (
            "nonsense",
            "\"nonsense\" is nothing that can be typed here; ? says what can",
        ),
        (
            "/state:runing",
            "state:runing is none of idle, running, waiting, failed, budget",
        ),
    ] {
        assert_eq!(reader.types(line).await, [says]);
    }
    reader.types("7").await;
    let earlier = reader.types("p").await;
    assert_eq!(earlier.last().map(String::as_str), Some("p tells more"));
    assert!(
        earlier.iter().any(|line| line.starts_with("user: step ")),
        "{earlier:#?}"
    );
    let filtered = {
        reader.types("b").await;
        reader.types("/state:failed").await
    };
    assert!(filtered[0].starts_with("1. failed, "), "{filtered:#?}");
}
