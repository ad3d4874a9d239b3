//! What a follower sees before an Item is complete, and what it never sees.

use std::sync::Arc;
use std::time::Duration;

use pretty_assertions::assert_eq;
use rat_things::api::{HasId, Item};
use rat_things::backend::memory::environments::Scripted;
use rat_things::backend::model::scripted::{Play, Reply, ScriptedModel};
use rat_things::engine::ids::SessionId;
use rat_things::engine::overhear::{Heard, Joins, Overheard};
use rat_things::engine::ports::{Bell, LivePart, LiveText, ModelError, ModelEvent};
use rat_things::engine::position::Position;
use rat_things::engine::writing::Writing;
use tokio::sync::mpsc::Receiver;

use super::world::{Setup, World, managed};

/// All texts so far, in order.
fn all(texts: &mut Receiver<LiveText>) -> Vec<LiveText> {
    std::iter::from_fn(|| texts.try_recv().ok()).collect()
}

/// A Session that was created and overheard before any worker saw it.
async fn overheard(world: &World, input: &str) -> (SessionId, Receiver<LiveText>) {
    world.stop_dispatching();
    let session = world.create(managed(input)).await;
    let texts = world.bell.overhear(session.as_str());
    world.start_dispatching();
    (session, texts)
}

fn joined(texts: &[LiveText], part: LivePart) -> String {
    let of_part = texts.iter().filter(|text| text.part == part);
    of_part.map(|text| text.text.as_str()).collect()
}

#[tokio::test(start_paused = true)]
pub async fn text_is_seen_as_it_comes_under_the_ids_that_the_items_will_have() {
    let world = World::with(|_, _| Scripted::ok("made\n".to_owned()));
    // The message is written while the reasoning of the same model call is not recorded yet.
    let input = "@exec make\n@reason hm\n@slow 100 one two three";
    let (session, mut texts) = overheard(&world, input).await;
    world.settled(&session).await;
    let texts = all(&mut texts);
    assert_eq!(joined(&texts, LivePart::Summary(0)), "hm");
    assert_eq!(joined(&texts, LivePart::Message), "one two three");
    assert_eq!(joined(&texts, LivePart::Output), "made\n");
    let words = texts.iter().filter(|text| text.part == LivePart::Message);
    assert_eq!(words.count(), 3, "each in its time");
    let items = world.items(&session).await;
    for text in &texts {
        let heard = Heard {
            text: text.clone(),
            joins: Joins::Directly,
            whole: true,
        };
        let told = Writing::default().tell(&session, &mut Position::behind(1), text.item, &heard);
        let event = serde_json::to_value(told.last()).expect("an event");
        let at = items
            .iter()
            .position(|item| item.id() == event["item_id"].as_str())
            .unwrap_or_else(|| panic!("{event} is about no item of {items:#?}"));
        // The first Item is the user's.
        assert_eq!(event["output_index"], at as u64 - 1);
    }
    world.sound();
}

#[tokio::test(start_paused = true)]
pub async fn following_costs_a_turn_no_commit() {
    let mut revisions = Vec::new();
    for followed in [false, true] {
        let world = World::new();
        let (session, texts) = overheard(&world, "@exec true\n@say done").await;
        if !followed {
            drop(texts);
        }
        world.settled(&session).await;
        world.at_rest().await;
        revisions.push(world.read(&session).await.head.revision);
    }
    // The creation, and three commits of the Turn.
    assert_eq!(revisions, [4, 4]);
}

#[tokio::test(start_paused = true)]
pub async fn what_a_broken_model_call_wrote_is_void() {
    let broken = ModelError {
        code: "server_error".into(),
        message: "down".into(),
        retryable: true,
        retry_after_ms: None,
    };
    let message = serde_json::json!({
        "type": "message", "role": "assistant", "status": "completed",
        "content": [{"type": "output_text", "text": "whole"}],
    });
    let delta = |text: &str| Play::Event(ModelEvent::TextDelta(text.into()));
    let model = ScriptedModel::new([
        Reply::Stream(vec![delta("half"), Play::Fail(broken)]),
        Reply::Stream(vec![
            delta("who"),
            delta("le"),
            Play::Event(ModelEvent::Item(message)),
            Play::Event(ModelEvent::Done {
                response_id: None,
                usage: None,
                incomplete: None,
            }),
        ]),
    ]);
    let world = Setup {
        model: Arc::new(model),
        ..Setup::default()
    }
    .build();
    let (session, mut texts) = overheard(&world, "go").await;
    world.settled(&session).await;
    let texts = all(&mut texts);
    let of = |attempt| {
        let texts: Vec<_> = texts
            .iter()
            .filter(|t| t.attempt == attempt)
            .cloned()
            .collect();
        joined(&texts, LivePart::Message)
    };
    assert_eq!((of(0).as_str(), of(1).as_str()), ("half", "whole"));
    assert!(texts.iter().all(|text| text.item == texts[0].item));
}

#[tokio::test(start_paused = true)]
pub async fn nothing_of_a_worker_that_was_replaced_is_shown() {
    let world = World::new();
    let input = "@slow 1000 one two three four five six";
    let (session, mut texts) = overheard(&world, input).await;
    let old = texts.recv().await.expect("it writes");
    let mut overheard = Overheard::default();
    let head = world.read(&session).await.head;
    assert!(overheard.take(&head, old.clone()).is_some());
    world.kill_worker(1).await;
    // Its last words come late.
    let late = LiveText {
        offset_bytes: old.end_bytes(),
        text: "late".into(),
        ..old.clone()
    };
    let newer = async {
        loop {
            let text = texts.recv().await.expect("somebody writes");
            if text.generation > old.generation {
                return text;
            }
        }
    };
    let newer = tokio::time::timeout(Duration::from_secs(600), newer)
        .await
        .expect("another worker goes on");
    let head = world.read(&session).await.head;
    assert_eq!(overheard.take(&head, late), None);
    let heard = overheard.take(&head, newer).expect("it is the live one");
    assert!(heard.whole, "{heard:?}");
    world.settled(&session).await;
    let items = world.items(&session).await;
    let Some(Item::Message(_)) = items.last() else {
        panic!("{items:#?}");
    };
}
