//! The made-up world behind the screen: what holds of every deployment holds of it, too.

use std::collections::BTreeSet;
use std::num::NonZero;
use std::sync::Arc;

use rat_things::api::{
    Became, CancelInput, Decision, Delivery, FunctionOutput, InputEvent, InputMessage, Item,
    McpApprovalInput, McpApprovalResponse, MessageContent, MessageInput, RequiredAction,
    SessionCreateParams, SessionStatus, ToolResultInput, TurnStatus,
};
use rat_things::backend::demo::Demo;
use rat_things::backend::memory::clock::ManualClock;
use rat_things::engine::ports::{Deployment, Named};
use rat_things::engine::read::{ListQuery, SessionFilter};
use serde_json::json;
use tokio::io::AsyncReadExt;

use super::samples::NOW_MS;

fn world(sessions: u32) -> (Demo, Arc<ManualClock>) {
    let clock = Arc::new(ManualClock::new(NOW_MS));
    let sessions = NonZero::new(sessions).expect("some");
    (Demo::new(sessions, 1, clock.clone()), clock)
}

fn query(after: Option<String>, ascending: bool) -> ListQuery {
    ListQuery {
        limit: 7,
        after,
        ascending,
    }
}

async fn all_sessions(demo: &Demo, ascending: bool) -> Vec<String> {
    let (mut ids, mut after) = (Vec::new(), None);
    loop {
        let page = demo
            .list_sessions(&query(after, ascending), &SessionFilter::default())
            .await
            .expect("lists");
        ids.extend(page.data.into_iter().map(|session| session.id));
        after = page.last_id;
        if !page.has_more {
            return ids;
        }
    }
}

async fn all_items(demo: &Demo, session: &str, turn: Option<&str>, ascending: bool) -> Vec<Item> {
    let (mut items, mut after) = (Vec::new(), None);
    loop {
        let page = demo
            .list_items(session, turn, &query(after, ascending))
            .await
            .expect("lists");
        items.extend(page.data);
        after = page.last_id;
        if !page.has_more {
            return items;
        }
    }
}

fn message(text: &str, delivery: Option<Delivery>) -> InputEvent {
    InputEvent::Message(MessageInput {
        input: vec![InputMessage::text(text)],
        delivery,
    })
}

fn text(item: &Item) -> Option<&str> {
    let Item::Message(message) = item else {
        return None;
    };
    match message.content.first()? {
        MessageContent::InputText { text } | MessageContent::OutputText { text } => Some(text),
        MessageContent::InputImage { .. } => None,
    }
}

#[tokio::test]
async fn pages_give_every_session_and_every_item_once_in_both_directions() {
    let (demo, _) = world(50);
    let newest_first = all_sessions(&demo, false).await;
    let mut oldest_first = all_sessions(&demo, true).await;
    oldest_first.reverse();
    assert_eq!(newest_first, oldest_first);
    assert_eq!(newest_first.iter().collect::<BTreeSet<_>>().len(), 50);
    for session in &newest_first[..6] {
        let items = all_items(&demo, session, None, true).await;
        let mut backwards = all_items(&demo, session, None, false).await;
        backwards.reverse();
        assert_eq!(items, backwards);
        let turns = demo
            .list_turns(session, &query(None, true))
            .await
            .expect("lists");
        let mut by_turn = Vec::new();
        for turn in turns.data {
            by_turn.extend(all_items(&demo, session, Some(&turn.turn.id), true).await);
        }
        assert_eq!(items, by_turn);
    }
}

#[tokio::test]
async fn the_same_seed_makes_the_same_world_and_another_one_another() {
    let (one, other) = (world(20).0, world(20).0);
    let sessions = all_sessions(&one, false).await;
    assert_eq!(sessions, all_sessions(&other, false).await);
    for session in &sessions {
        assert_eq!(
            one.session(session).await.expect("there"),
            other.session(session).await.expect("there")
        );
        assert_eq!(
            all_items(&one, session, None, true).await,
            all_items(&other, session, None, true).await
        );
    }
    let clock = Arc::new(ManualClock::new(NOW_MS));
    let third = Demo::new(NonZero::new(20).expect("some"), 2, clock);
    let others = all_sessions(&third, false).await;
    assert!(others.iter().all(|id| !sessions.contains(id)));
}

#[tokio::test(start_paused = true)]
async fn what_is_written_while_it_is_watched_is_what_its_item_says() {
    let (demo, clock) = world(20);
    let session = demo.session_id(19);
    let mut watch = demo.watch(&session, true).await.expect("watches");
    let mut heard: std::collections::BTreeMap<String, String> = Default::default();
    for _ in 0..300 {
        let signs = watch.changed().await.expect("watches");
        for piece in signs.written {
            heard
                .entry(piece.item_id)
                .or_default()
                .push_str(&piece.text);
        }
        clock.advance(150);
    }
    let items = all_items(&demo, &session, None, true).await;
    let whole: Vec<(&str, &str)> = items
        .iter()
        .filter_map(|item| match item {
            Item::Message(message) => Some((message.id.as_deref()?, text(item)?)),
            _ => None,
        })
        .collect();
    let mut compared = 0;
    for (id, said) in whole {
        // The first was heard from its middle on, and the last pieces of each may have been missed between two looks.
        if let Some(heard) = heard.get(id)
            && said.starts_with(heard.as_str())
        {
            compared += 1;
            assert!(heard.len() * 10 > said.len() * 8, "{heard} of {said}");
        }
    }
    assert!(compared >= 2, "{compared} texts were heard from the start");
}

#[tokio::test]
async fn a_message_starts_a_turn_once_under_its_key_and_the_next_one_steers_or_queues() {
    let (demo, clock) = world(20);
    let session = demo.session_id(3);
    let hello = [message("hello", None)];
    let first = demo.send(&session, "k1", &hello).await.expect("accepted");
    let Became::Started { turn_id } = first.receipt.outcomes[0].clone() else {
        panic!("{first:?}");
    };
    let again = demo.send(&session, "k1", &hello).await.expect("accepted");
    assert_eq!(again.receipt.id, first.receipt.id);
    assert_eq!(again.receipt.repeated, Some(true));
    clock.advance(500);
    let steer = [message("and this", None)];
    let steered = demo.send(&session, "k2", &steer).await.expect("accepted");
    assert_eq!(
        steered.receipt.outcomes,
        [Became::Steered {
            turn_id: turn_id.clone()
        }]
    );
    let next = [message("later", Some(Delivery::NextTurn))];
    let queued = demo.send(&session, "k3", &next).await.expect("accepted");
    assert!(matches!(
        queued.receipt.outcomes[0],
        Became::Queued { position: 1, .. }
    ));
    assert_eq!(
        demo.session(&session).await.expect("there").status,
        SessionStatus::InProgress
    );
    clock.advance(60_000);
    let items = all_items(&demo, &session, None, true).await;
    let said: Vec<&str> = items.iter().filter_map(text).collect();
    for expected in ["hello", "and this", "later"] {
        let times = said.iter().filter(|text| **text == expected).count();
        assert_eq!(times, 1, "{expected} in {said:?}");
    }
    assert_eq!(
        demo.session(&session).await.expect("there").status,
        SessionStatus::Idle
    );
}

#[tokio::test]
async fn a_turn_is_cancelled_by_its_name_and_only_while_it_runs() {
    let (demo, _) = world(20);
    let session = demo.session_id(19);
    let turns = demo
        .list_turns(&session, &query(None, false))
        .await
        .expect("lists");
    let active = turns.data[0].turn.id.clone();
    let over = turns.data[1].turn.id.clone();
    let cancel = |turn: &str| {
        [InputEvent::Cancel(CancelInput {
            turn_id: Some(turn.to_owned()),
        })]
    };
    let sent = demo
        .send(&session, "k1", &cancel(&over))
        .await
        .expect("accepted");
    assert!(
        matches!(sent.receipt.outcomes[0], Became::Nothing { .. }),
        "{sent:?}"
    );
    let sent = demo
        .send(&session, "k2", &cancel(&active))
        .await
        .expect("accepted");
    assert_eq!(
        sent.receipt.outcomes,
        [Became::Cancelled {
            turn_id: active.clone()
        }]
    );
    let turn = demo.turn(&session, &active).await.expect("there").turn;
    assert_eq!(turn.status, TurnStatus::Cancelled);
}

#[tokio::test]
async fn what_a_session_waits_for_is_answered_and_its_turn_goes_on() {
    let (demo, clock) = world(20);
    for behind in [1, 5] {
        let session = demo.session_id(19 - behind);
        let waits = demo.session(&session).await.expect("there");
        assert_eq!(waits.status, SessionStatus::RequiresAction);
        let answer = match &waits.required_actions[..] {
            [
                RequiredAction::FunctionCall {
                    call_id, turn_id, ..
                },
            ] => InputEvent::ToolResult(ToolResultInput {
                call_id: call_id.clone(),
                success: true,
                turn_id: turn_id.clone(),
                error: None,
                output: Some(FunctionOutput::Text("account 7".into())),
            }),
            [RequiredAction::McpApprovalRequest { request_id, .. }] => {
                InputEvent::McpApprovalRequestResult(McpApprovalInput {
                    request_id: request_id.clone(),
                    response: McpApprovalResponse {
                        decision: Decision::Approve,
                    },
                })
            }
            other => panic!("{other:?}"),
        };
        let answers = [answer];
        let sent = demo.send(&session, "k1", &answers).await.expect("accepted");
        assert!(
            matches!(sent.receipt.outcomes[0], Became::Answered { .. }),
            "{sent:?}"
        );
        clock.advance(1_000);
        demo.send(&session, "k2", &answers)
            .await
            .expect_err("it is answered already");
        clock.advance(60_000);
        let over = demo.session(&session).await.expect("there");
        assert_eq!(
            (over.status, over.required_actions.len()),
            (SessionStatus::Idle, 0)
        );
    }
}

#[tokio::test]
async fn states_are_filtered_and_ids_are_found_by_their_beginning() {
    let (demo, _) = world(2_000);
    let filter = SessionFilter {
        status: vec![SessionStatus::Failed],
        ..SessionFilter::default()
    };
    let page = demo
        .list_sessions(&query(None, false), &filter)
        .await
        .expect("lists");
    assert_eq!(page.data.len(), 7);
    for session in &page.data {
        assert_eq!(session.status, SessionStatus::Failed);
        assert!(session.error.is_some());
    }
    let id = &page.data[3].id;
    let found = demo
        .ids(Named::Session, &id[..14], 5)
        .await
        .expect("looks")
        .found;
    assert_eq!(found, [id.as_str()]);
}

#[tokio::test]
async fn sessions_are_created_changed_and_deleted_and_nothing_of_it_is_a_stub() {
    let (demo, clock) = world(20);
    let params: SessionCreateParams = serde_json::from_value(json!({
        "environment": {"type": "none"}, "agent": {"model": "demo-small"},
        "input": "hello", "metadata": {"title": "mine"},
    }))
    .expect("of this shape");
    let mine = demo.create_session("k1", &params).await.expect("created");
    let again = demo.create_session("k1", &params).await.expect("the same");
    assert_eq!(mine.id, again.id);
    assert_eq!(all_sessions(&demo, false).await[0], mine.id);
    clock.advance(60_000);
    let items = all_items(&demo, &mine.id, None, true).await;
    assert_eq!(text(&items[0]), Some("hello"));
    let update = serde_json::from_value(json!({"metadata": {"title": "ours"}})).expect("so");
    let changed = demo
        .update_session(&mine.id, &update)
        .await
        .expect("changed");
    assert_eq!(changed.metadata["title"], "ours");
    demo.delete_session(&mine.id).await.expect("deleted");
    demo.session(&mine.id).await.expect_err("gone");
    assert_eq!(all_sessions(&demo, false).await.len(), 20);
}

#[tokio::test]
async fn artifacts_have_the_bytes_that_they_say() {
    let (demo, _) = world(20);
    let session = demo.session_id(15);
    let page = demo
        .list_artifacts(&session, None, &query(None, true))
        .await
        .expect("lists");
    assert_eq!(page.data.len(), 5);
    for artifact in page.data {
        let mut content = demo.artifact(&session, &artifact.id).await.expect("reads");
        let mut bytes = Vec::new();
        content.bytes.read_to_end(&mut bytes).await.expect("reads");
        assert_eq!(bytes.len() as u64, artifact.size_bytes);
    }
}
