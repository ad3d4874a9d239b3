//! Records that only an operator sees: Runs with their fences, deliveries, what is owed, an environment, whether all is in order.

use rat_things::engine::delivery::{DeliveryRow, DeliveryState};
use rat_things::engine::input::Body;
use rat_things::engine::outbox::Reconcile;
use rat_things::engine::ports::{
    DeliveryRead, EnvironmentRead, OwedRead, RunPhase, RunRead, WorkspaceFile, WorkspaceFiles,
};
use rat_things::text::Glyphs;
use rat_things::tui::action::Place;
use rat_things::tui::msg::{Effect, Msg, Trouble};
use rat_things::tui::reading::{ReadAsk, Seen, read};
use rat_things::tui::records::{Check, Verdict};
use rat_things::tui::settle::Matter;
use rat_things::tui::state::State;
use rat_things::tui::update::update;
use rat_things::tui::window::{Chunk, Where};
use serde_json::json;

use super::drawn::{all, drawn};
use super::fake::Fake;
use super::samples::{NOW, NOW_MS, list, opened, press, session, type_in};

const SIZE: (u16, u16) = (80, 24);
const ID: &str = "sess_7fk2c4v8w2n6r3t0yxbhek5zq1";
const LOST: &str = "run_3t0yxbhek5zq1m9k24v8w2n6r3";

fn run(id: &str, generation: u64, state: RunPhase) -> RunRead {
    let live = state == RunPhase::Live;
    RunRead {
        id: id.into(),
        object: "rat_things.run",
        session_id: ID.into(),
        generation,
        state,
        turn_id: "turn_c4v8w2n6r3t0yxbhek5zq1m9k2".into(),
        execution: format!("proc:4711:99:boot#{generation}"),
        process_alive: match state {
            RunPhase::Live => Some(true),
            RunPhase::Quarantined => None,
            RunPhase::Ended => Some(false),
        },
        started_ms: NOW_MS - 600_000 / generation,
        ended_ms: (state == RunPhase::Ended).then_some(NOW_MS - 300_000),
        end: (state == RunPhase::Ended).then(|| "done".to_owned()),
        lease_until_ms: live.then_some(NOW_MS + 20_000),
        quarantined_ms: (state == RunPhase::Quarantined).then_some(NOW_MS - 90_000),
        program: None,
        began_anew: None,
    }
}

fn delivery(n: usize, state: DeliveryState) -> DeliveryRead {
    DeliveryRead {
        id: format!("dlv_4v8w2n6r3t0yxbhek5zq1m9k2{n}"),
        row: DeliveryRow {
            destination: "https://hooks.example.org/agents".into(),
            event: "agent.session.idle".into(),
            body: Body::Inline("{}".into()),
            state,
            attempts: n as u32,
            tries: n as u32,
            due_ms: NOW_MS + 60_000,
            created_ms: NOW_MS - 600_000,
            changed_ms: NOW_MS - 60_000,
            answer: (n > 0).then(|| "timed out after it was sent".to_owned()),
        },
    }
}

fn chunk<T>(rows: Vec<T>) -> Chunk<T> {
    Chunk {
        at: Where::Start,
        scanned: rows.len(),
        rows,
        more: false,
        cursor: None,
    }
}

fn asked(effects: &[Effect]) -> (u64, ReadAsk) {
    let mut reads = effects.iter().filter_map(|effect| match effect {
        Effect::Read { ticket, ask } => Some((*ticket, ask.clone())),
        _ => None,
    });
    let one = reads.next().expect("something is read");
    assert_eq!(reads.next(), None);
    one
}

fn tell(state: &mut State, ticket: u64, seen: Result<Seen, Trouble>) {
    let result = seen.map(Box::new);
    update(state, Msg::Read { ticket, result });
}

fn runs(size: (u16, u16), glyphs: Glyphs) -> State {
    let mut state = opened(size, glyphs);
    let (ticket, ask) = asked(&press(&mut state, &["3"]));
    let (session, at) = (ID.to_owned(), Where::Start);
    assert_eq!(ask, ReadAsk::Runs { session, at });
    let rows = vec![
        run("run_hek5zq1m9k24v8w2n6r3t0yxb4", 5, RunPhase::Live),
        run(LOST, 3, RunPhase::Quarantined),
        run("run_w2n6r3t0yxbhek5zq1m9k24v81", 1, RunPhase::Ended),
    ];
    tell(&mut state, ticket, Ok(Seen::Runs(chunk(rows))));
    state
}

fn deliveries(size: (u16, u16), glyphs: Glyphs) -> State {
    let mut state = opened(size, glyphs);
    let (ticket, ask) = asked(&press(&mut state, &["2"]));
    let (session, at) = (ID.to_owned(), Where::Start);
    assert_eq!(ask, ReadAsk::Deliveries { session, at });
    let states = [
        DeliveryState::Pending,
        DeliveryState::Sending,
        DeliveryState::Delivered,
        DeliveryState::Failed,
        DeliveryState::Uncertain,
    ];
    let rows = states
        .into_iter()
        .enumerate()
        .map(|(n, state)| delivery(n, state));
    tell(
        &mut state,
        ticket,
        Ok(Seen::Deliveries(chunk(rows.collect()))),
    );
    state
}

fn owed(size: (u16, u16), glyphs: Glyphs) -> State {
    let mut state = list(size, glyphs);
    let (ticket, ask) = asked(&press(&mut state, &["2"]));
    assert_eq!(ask, ReadAsk::Owed);
    let row = |session: &str, group: &'static str, due_ms, why: &str| OwedRead {
        id: format!("{group}/{session}"),
        session_id: session.into(),
        group,
        due_ms,
        why: why.into(),
    };
    let rows = vec![
        row(
            "sess_7f8dc4v8w2n6r3t0yxbhek5zq1",
            "execute",
            NOW_MS - 120_000,
            "a turn is queued",
        ),
        row(
            ID,
            "execute",
            NOW_MS + 9_000,
            "a worker is at it; its lease ends then unless it is renewed",
        ),
        row(
            ID,
            "deliver",
            NOW_MS + 60_000,
            "a notification is to be sent",
        ),
    ];
    tell(&mut state, ticket, Ok(Seen::Owed(chunk(rows))));
    state
}

fn environment(size: (u16, u16), glyphs: Glyphs) -> State {
    let mut state = opened(size, glyphs);
    let (ticket, ask) = asked(&press(&mut state, &["4"]));
    let session_id = ID.to_owned();
    assert_eq!(
        ask,
        ReadAsk::Environment {
            session: session_id
        }
    );
    let mut of = session(ID, "in_progress", None, NOW);
    of.environment = serde_json::from_value(json!({
        "type": "openai_hosted", "id": "env_3h1pc4v8w2n6r3t0yxbhek5zq1", "capability_directories": [], "files": [],
        "network": {"access": "restricted", "allowed_domains": ["crates.io", "example.org"]},
        "packages": {"npm": [], "python": ["ruff"], "system": []}, "plugins": [], "skills": [],
    }))
    .expect("it is of this shape");
    let read = EnvironmentRead {
        resets: 3,
        status: Some(rat_things::api::EnvironmentStatus::Connected),
        expiry: None,
        pending_inputs: 1,
        lease: Some((5, NOW_MS + 20_000)),
    };
    tell(
        &mut state,
        ticket,
        Ok(Seen::Environment(Box::new(of), read)),
    );
    state
}

fn health(size: (u16, u16), glyphs: Glyphs) -> State {
    let mut state = list(size, glyphs);
    let (ticket, ask) = asked(&press(&mut state, &["6"]));
    assert_eq!(ask, ReadAsk::Health);
    let check = |name: &str, verdict, found: &str, fixes: &[&str]| Check {
        name: name.into(),
        verdict,
        found: found.into(),
        fixes: fixes.iter().map(|fix| (*fix).to_owned()).collect(),
    };
    let checks = vec![
        check(
            "configuration",
            Verdict::Ok,
            "profile default: there is no file; defaults hold",
            &[],
        ),
        check(
            "daemon",
            Verdict::Warning,
            "none runs, and 2 sessions owe work",
            &["rat-things daemon start"],
        ),
        check(
            "provider",
            Verdict::Failed,
            "no key: OPENAI_API_KEY is not set",
            &["export OPENAI_API_KEY=…"],
        ),
    ];
    tell(&mut state, ticket, Ok(Seen::Checks(checks)));
    state
}

fn settles(effects: &[Effect]) -> (u64, Matter) {
    let [Effect::Settle { ticket, matter }] = effects else {
        panic!("one thing is settled: {effects:?}");
    };
    (*ticket, matter.clone())
}

#[test]
fn a_quarantine_ends_only_when_the_whole_id_of_its_run_was_typed() {
    let mut state = runs(SIZE, Glyphs::Unicode);
    press(&mut state, &["j", "Q"]);
    assert_eq!(state.place(), Place::Settle);
    assert!(drawn(&state, true).contains(LOST));
    assert_eq!(press(&mut state, &["enter"]), []);
    type_in(&mut state, &LOST[..20]);
    assert_eq!(press(&mut state, &["enter"]), []);
    assert!(drawn(&state, true).contains("this is not the id"));
    type_in(&mut state, &LOST[20..]);
    let (ticket, matter) = settles(&press(&mut state, &["enter"]));
    assert!(
        matches!(&matter, Matter::Release { run, .. } if run == LOST),
        "{matter:?}"
    );
    assert_eq!(
        press(&mut state, &["enter"]),
        [],
        "it is on its way already"
    );
    let effects = update(
        &mut state,
        Msg::Settled {
            ticket,
            result: Ok(()),
        },
    );
    assert!(
        matches!(asked(&effects).1, ReadAsk::Runs { .. }),
        "what is shown is read again"
    );
    assert_eq!(state.place(), Place::Runs);
    assert!(drawn(&state, true).contains("is released"));
}

#[test]
fn esc_settles_nothing_and_a_run_that_is_not_in_quarantine_is_not_asked_about() {
    let mut state = runs(SIZE, Glyphs::Unicode);
    press(&mut state, &["Q"]);
    assert_eq!(state.place(), Place::Runs);
    press(&mut state, &["j", "Q"]);
    type_in(&mut state, LOST);
    assert_eq!(press(&mut state, &["esc"]), []);
    assert_eq!(state.place(), Place::Runs);
}

#[test]
fn what_is_not_known_to_have_happened_is_not_told_as_done() {
    let mut state = runs(SIZE, Glyphs::Unicode);
    press(&mut state, &["j", "Q"]);
    type_in(&mut state, LOST);
    let (ticket, _) = settles(&press(&mut state, &["enter"]));
    let trouble = Trouble {
        words: "the store did not answer".into(),
        unknown: true,
    };
    update(
        &mut state,
        Msg::Settled {
            ticket,
            result: Err(trouble),
        },
    );
    assert_eq!(state.place(), Place::Settle);
    assert!(drawn(&state, true).contains("not known whether it happened"));
}

#[test]
fn deliveries_are_settled_each_in_its_way() {
    for (key, how) in [
        ("A", Reconcile::Arrived),
        ("R", Reconcile::SendAgain),
        ("D", Reconcile::GiveUp),
    ] {
        let mut state = deliveries(SIZE, Glyphs::Unicode);
        press(&mut state, &["G", key]);
        let id = delivery(4, DeliveryState::Uncertain).id;
        type_in(&mut state, &id);
        let (_, matter) = settles(&press(&mut state, &["enter"]));
        let Matter::Delivery {
            delivery,
            how: which,
            ..
        } = matter
        else {
            panic!("{matter:?}");
        };
        assert_eq!((delivery, which), (id, how));
    }
}

#[test]
fn in_read_only_mode_nothing_is_settled() {
    let mut state = runs(SIZE, Glyphs::Unicode);
    state.about.read_only = true;
    press(&mut state, &["j", "Q"]);
    assert_eq!(state.place(), Place::Runs);
}

#[test]
fn digits_lead_from_view_to_view_and_back_to_the_sessions() {
    let mut state = runs(SIZE, Glyphs::Unicode);
    press(&mut state, &["5"]);
    assert_eq!((state.place(), state.layers.len()), (Place::Artifacts, 1));
    press(&mut state, &["2", "tab"]);
    assert_eq!(state.place(), Place::Owed);
    press(&mut state, &["tab"]);
    assert_eq!(state.place(), Place::Deliveries);
    press(&mut state, &["1"]);
    assert_eq!(state.place(), Place::Sessions);
    press(&mut state, &["c", "2"]);
    assert_eq!(
        state.place(),
        Place::Create,
        "a digit is text where text is typed"
    );
}

#[test]
fn what_is_owed_leads_to_its_session() {
    let mut state = owed(SIZE, Glyphs::Unicode);
    let effects = press(&mut state, &["enter"]);
    let expected = "sess_7f8dc4v8w2n6r3t0yxbhek5zq1";
    assert!(
        matches!(&effects[..], [Effect::Watch(id), Effect::Look(_)] if id == expected),
        "{effects:?}"
    );
}

#[test]
fn why_a_session_does_not_move_is_told_with_what_would_unblock_it() {
    for (mut state, id) in [
        (opened(SIZE, Glyphs::Unicode), ID),
        (list(SIZE, Glyphs::Unicode), ID),
    ] {
        let (ticket, ask) = asked(&press(&mut state, &["e"]));
        let session = id.to_owned();
        assert_eq!(ask, ReadAsk::Explain { session });
        let cause = Check {
            name: "quarantined".into(),
            verdict: Verdict::Warning,
            found: "a worker can't be accounted for".into(),
            fixes: vec!["rat-things runs release run_1".into()],
        };
        tell(&mut state, ticket, Ok(Seen::Checks(vec![cause])));
        let shown = drawn(&state, true);
        assert!(shown.contains("can't be accounted for"), "{shown}");
        assert!(
            shown.contains("-> rat-things runs release run_1"),
            "{shown}"
        );
    }
}

#[tokio::test]
async fn where_the_records_are_somewhere_else_the_screen_says_so() {
    let session = ID.to_owned();
    for ask in [
        ReadAsk::Runs {
            session: session.clone(),
            at: Where::Start,
        },
        ReadAsk::Owed,
        ReadAsk::Explain {
            session: session.clone(),
        },
        ReadAsk::Environment { session },
        ReadAsk::Health,
    ] {
        let error = read(&Fake::new(1, 1), None, None, ask)
            .await
            .expect_err("it lacks them");
        let mut state = opened(SIZE, Glyphs::Unicode);
        let (ticket, _) = asked(&press(&mut state, &["3"]));
        tell(&mut state, ticket, Err(error.into()));
        assert!(drawn(&state, true).contains("not read: this is told by the records themselves"));
    }
}

#[test]
fn the_runs_of_a_session() {
    insta::assert_snapshot!(all(|size, glyphs| {
        let mut state = runs(size, glyphs);
        press(&mut state, &["j"]);
        state
    }));
}

#[test]
fn the_question_before_a_quarantine_ends() {
    insta::assert_snapshot!(all(|size, glyphs| {
        let mut state = runs(size, glyphs);
        press(&mut state, &["j", "Q"]);
        type_in(&mut state, "run_3t0");
        state
    }));
}

#[test]
fn the_deliveries_of_a_session() {
    insta::assert_snapshot!(all(|size, glyphs| {
        let mut state = deliveries(size, glyphs);
        press(&mut state, &["G"]);
        state
    }));
}

#[test]
fn what_all_sessions_owe() {
    insta::assert_snapshot!(all(owed));
}

#[test]
fn the_environment_of_a_session() {
    insta::assert_snapshot!(all(environment));
}

#[test]
fn the_files_of_an_environment_are_listed_as_they_are_now() {
    let mut state = environment((80, 24), Glyphs::Unicode);
    let (ticket, ask) = asked(&press(&mut state, &["f"]));
    let session = ID.to_owned();
    assert_eq!(ask, ReadAsk::Files { session });
    let file = |path: &str, size_bytes| WorkspaceFile {
        path: path.into(),
        size_bytes,
    };
    let files = WorkspaceFiles {
        files: vec![
            file("/workspace/a\u{1b}[2J.txt", 1_228),
            file("/workspace/src/main.rs", 88_064),
        ],
        more: true,
    };
    tell(&mut state, ticket, Ok(Seen::Files(Some(files))));
    let shown = drawn(&state, true);
    for words in [
        "/workspace/src/main.rs",
        "1.2 KiB",
        "the first 2; there are more",
    ] {
        assert!(shown.contains(words), "{words} in\n{shown}");
    }
    press(&mut state, &["esc"]);
    assert!(drawn(&state, true).contains("Environment"));
}

#[test]
fn whether_all_is_in_order() {
    insta::assert_snapshot!(all(health));
}
