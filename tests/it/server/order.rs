//! The order that clients of the API depend on, as a machine that every stream of these tests is run through.
//!
//! It knows a Turn from its `turn.created` on. Of a Turn that was under way before, it only demands what can be seen.

use std::collections::{BTreeSet, HashMap, HashSet};

use serde_json::Value;

use rat_things::api::Event;

/// What one stream has told.
#[derive(Default)]
pub struct Order {
    ids: HashSet<String>,
    turns: HashMap<String, Turn>,
    items: HashMap<String, Item>,
    /// The message or reasoning that is being told, and its place among the outputs of its Turn.
    open: Option<(String, u64)>,
    /// A worker may be lost: an Item that was begun may never end, and another comes in its place.
    loses: bool,
}

#[derive(Default)]
struct Turn {
    is_over: bool,
    /// Places of its outputs that have begun.
    begun: BTreeSet<u64>,
}

/// So many Items may be passed over by one that is begun while it is written, before those are recorded.
const PASSED_OVER: u64 = 2;

struct Item {
    turn: String,
    is_done: bool,
    parts: Vec<Part>,
}

#[derive(Default)]
struct Part {
    deltas: String,
    text: Option<String>,
    is_done: bool,
}

impl Order {
    /// The same for a stream that tells of a worker that is lost.
    pub fn with_losses() -> Order {
        Order {
            loses: true,
            ..Order::default()
        }
    }

    /// Takes in the next event.
    ///
    /// # Panics
    /// It breaks the order.
    pub fn take(&mut self, event: &Value) {
        let read: Result<Event, _> = serde_json::from_value(event.clone());
        assert!(read.is_ok(), "{read:?}: {event}");
        assert!(self.ids.insert(text(event, "event_id")), "twice: {event}");
        let kind = text(event, "type");
        let kind = kind.trim_start_matches("agent.session.");
        match kind {
            "created" => assert_eq!(self.ids.len(), 1, "not the first: {event}"),
            "turn.created" => self.turn_created(event),
            "turn.completed" | "turn.failed" | "turn.cancelled" => self.turn_over(event),
            "turn.item.added" => self.added(event),
            "turn.item.done" => self.done(event),
            "idle" | "in_progress" | "requires_action" => self.session(kind, event),
            _ => match kind.rsplit_once('.') {
                Some((what, "added")) if what.ends_with("_part") => self.part_added(event),
                Some((what, "done")) if what.ends_with("_part") => self.part_done(event),
                Some((what, "done")) if what.ends_with("_text") => self.text_done(event),
                Some((_, "delta")) => self.delta(event),
                _ => {}
            },
        }
    }

    fn turn_created(&mut self, event: &Value) {
        assert!(event["turn"]["subagent_id"].is_null(), "{event}");
        let new = self.turns.insert(text(event, "turn_id"), Turn::default());
        assert!(new.is_none(), "a turn twice: {event}");
    }

    fn turn_over(&mut self, event: &Value) {
        assert!(event.get("usage").is_some(), "no usage: {event}");
        let id = text(event, "turn_id");
        assert_eq!(event["turn"]["id"], id.as_str(), "{event}");
        if let Some(turn) = self.turns.get_mut(&id) {
            assert!(!turn.is_over, "over twice: {event}");
            turn.is_over = true;
            // Whatever was passed over came before the end.
            let all_begun = turn.begun.iter().copied().eq(0..turn.begun.len() as u64);
            let may_lack = self.loses || text(event, "type").ends_with("cancelled");
            assert!(all_begun || may_lack, "an item is missing: {event}");
            // A cancel may come while something is being written.
            let all_done = self
                .items
                .values()
                .all(|item| item.turn != id || item.is_done);
            let may_be_open = self.loses || text(event, "type").ends_with("cancelled");
            assert!(all_done || may_be_open, "an item is open: {event}");
        }
        self.open = None;
    }

    /// The Turn of an event about an Item, if its beginning was seen. It must be under way.
    fn turn_of(&mut self, event: &Value) -> Option<&mut Turn> {
        let turn = self.turns.get_mut(&text(event, "turn_id"))?;
        assert!(!turn.is_over, "behind its turn: {event}");
        Some(turn)
    }

    fn added(&mut self, event: &Value) {
        let (item, loses) = (&event["item"], self.loses);
        let id = text(item, "id");
        let is_input = item["role"] == "user" || item["type"] == "function_call_output";
        assert_eq!(event["output_index"].is_null(), is_input, "{event}");
        let index = event["output_index"].as_u64();
        if let Some(turn) = self.turn_of(event)
            && let Some(index) = index
        {
            let next = (0..).find(|place| !turn.begun.contains(place));
            let is_next = next.is_some_and(|next| (next..=next + PASSED_OVER).contains(&index));
            assert!(is_next || loses, "not the next: {event}");
            assert!(turn.begun.insert(index) || loses, "a place twice: {event}");
        }
        if is_input {
            assert!(!self.items.contains_key(&id) || loses, "twice: {event}");
            return;
        }
        let index = index.unwrap_or_default();
        // Only one that was passed over comes while another is open.
        let is_inside = self.open.as_ref().is_some_and(|(_, open)| index > *open);
        assert!(!is_inside || loses, "inside another: {event}");
        if matches!(item["type"].as_str(), Some("message" | "reasoning")) {
            assert_eq!(item["status"], "in_progress", "{event}");
            let inside = item.get("content").or(item.get("summary"));
            assert_eq!(inside, Some(&Value::Array(Vec::new())), "{event}");
            self.open = Some((id.clone(), index));
        }
        let item = Item {
            turn: text(event, "turn_id"),
            is_done: false,
            parts: Vec::new(),
        };
        assert!(
            self.items.insert(id, item).is_none() || loses,
            "twice: {event}"
        );
    }

    /// The Item of an event, if its beginning was seen.
    fn item_of(&mut self, id: &str, event: &Value) -> Option<&mut Item> {
        let knows_turn = self.turn_of(event).is_some();
        let item = self.items.get_mut(id);
        assert!(item.is_some() || !knows_turn, "never begun: {event}");
        if let Some(item) = &item {
            assert!(!item.is_done, "behind its end: {event}");
        }
        item
    }

    fn part_added(&mut self, event: &Value) {
        assert_eq!(event["part"]["text"], "", "{event}");
        let at = part_index(event);
        if let Some(item) = self.item_of(&text(event, "item_id"), event) {
            assert_eq!(item.parts.len(), at, "not the next: {event}");
            let all_done = item.parts.iter().all(|part| part.is_done);
            assert!(all_done, "inside another part: {event}");
            item.parts.push(Part::default());
            let place = event["output_index"].as_u64().unwrap_or_default();
            self.open = Some((text(event, "item_id"), place));
        }
    }

    fn part_of(&mut self, event: &Value) -> Option<&mut Part> {
        let at = part_index(event);
        let item = self.item_of(&text(event, "item_id"), event)?;
        let part = item.parts.get_mut(at);
        assert!(part.is_some(), "of no part: {event}");
        part
    }

    fn delta(&mut self, event: &Value) {
        if text(event, "type").contains("command") {
            self.item_of(&text(event, "item_id"), event);
        } else if let Some(part) = self.part_of(event) {
            assert!(part.text.is_none(), "behind its text: {event}");
            part.deltas.push_str(&text(event, "delta"));
        }
    }

    fn text_done(&mut self, event: &Value) {
        let (loses, whole) = (self.loses, text(event, "text"));
        if let Some(part) = self.part_of(event) {
            assert!(part.text.is_none(), "twice: {event}");
            assert!(
                loses || whole.starts_with(&part.deltas),
                "other than written: {event}"
            );
            part.text = Some(whole);
        }
    }

    fn part_done(&mut self, event: &Value) {
        let whole = text(&event["part"], "text");
        if let Some(part) = self.part_of(event) {
            assert_eq!(part.text.as_deref(), Some(whole.as_str()), "{event}");
            assert!(!part.is_done, "twice: {event}");
            part.is_done = true;
        }
        // Its end may come when the next one is being written.
        self.open = None;
    }

    fn done(&mut self, event: &Value) {
        let item = &event["item"];
        assert_ne!(item["role"], "user", "{event}");
        assert_ne!(item["type"], "function_call_output", "{event}");
        assert_ne!(item["status"], "in_progress", "{event}");
        let id = text(item, "id");
        let inside = item.get("content").or(item.get("summary"));
        let inside = inside
            .and_then(Value::as_array)
            .cloned()
            .unwrap_or_default();
        if let Some(known) = self.item_of(&id, event) {
            assert_eq!(known.parts.len(), inside.len(), "parts: {event}");
            for (part, whole) in known.parts.iter().zip(&inside) {
                assert!(part.is_done, "a part is open: {event}");
                assert_eq!(part.text.as_deref(), whole["text"].as_str(), "{event}");
            }
            known.is_done = true;
        }
        self.open.take_if(|(open, _)| *open == id);
    }

    fn session(&mut self, kind: &str, event: &Value) {
        let session = &event["session"];
        assert_eq!(session["status"], kind, "{event}");
        let actions = session["required_actions"].as_array().expect("a list");
        match kind {
            "requires_action" => assert!(!actions.is_empty(), "for nothing: {event}"),
            _ => assert!(actions.is_empty(), "{event}"),
        }
        if kind == "idle" {
            assert!(self.turns.values().all(|turn| turn.is_over), "{event}");
        }
    }
}

fn part_index(event: &Value) -> usize {
    let index = event.get("content_index").or(event.get("summary_index"));
    let index = index.and_then(Value::as_u64).expect("an index");
    usize::try_from(index).expect("small")
}

fn text(value: &Value, name: &str) -> String {
    let text = value[name].as_str();
    text.unwrap_or_else(|| panic!("no {name}: {value}"))
        .to_owned()
}

#[test]
fn the_machine_notices_what_is_out_of_order() {
    let event = |id: &str, kind: &str, rest: Value| {
        let mut event = serde_json::json!({"type": format!("agent.session.turn.{kind}"), "event_id": id,
            "session_id": "s", "turn_id": "t", "item_id": "i", "output_index": 0, "content_index": 0});
        let rest = rest.as_object().cloned().unwrap_or_default();
        event.as_object_mut().expect("an object").extend(rest);
        event
    };
    let message = |status: &str, content: Value| {
        serde_json::json!({"item": {"type": "message", "id": "i", "role": "assistant",
            "status": status, "phase": null, "turn_id": "t", "content": content}})
    };
    let part = |text: &str| serde_json::json!({"part": {"type": "output_text", "text": text}});
    let whole = [
        event(
            "1",
            "item.added",
            message("in_progress", serde_json::json!([])),
        ),
        event("2", "content_part.added", part("")),
        event("3", "output_text.delta", serde_json::json!({"delta": "a"})),
        event("4", "output_text.done", serde_json::json!({"text": "ab"})),
        event("5", "content_part.done", part("ab")),
        event(
            "6",
            "item.done",
            message(
                "completed",
                serde_json::json!([{"type": "output_text", "text": "ab"}]),
            ),
        ),
    ];
    let breaks = |events: Vec<&Value>| {
        let run = || {
            let mut order = Order::default();
            order.turns.insert("t".into(), Turn::default());
            events.iter().for_each(|event| order.take(event));
        };
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)).is_err()
    };
    assert!(!breaks(whole.iter().collect()));
    for at in 0..whole.len() - 1 {
        let mut swapped: Vec<&Value> = whole.iter().collect();
        swapped.swap(at, at + 1);
        assert!(breaks(swapped), "{at} and the next are swapped");
        let mut twice: Vec<&Value> = whole.iter().collect();
        twice.insert(at, &whole[at]);
        assert!(breaks(twice), "{at} is told twice");
        // A delta may be missing.
        let left = whole.iter().enumerate().filter(|(n, _)| *n != at);
        assert_eq!(breaks(left.map(|(_, event)| event).collect()), at != 2);
    }
}
