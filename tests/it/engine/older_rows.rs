//! Rows as the first stores have them, with names in full, or without what came later: they are read as what they are, and written back with short names.

use rat_things::engine::access::AccessKey;
use rat_things::engine::input::InputRow;
use rat_things::engine::item::ItemRow;
use rat_things::engine::journal::JournalRow;
use rat_things::engine::ports::ModelUsage;
use rat_things::engine::receipt::ReceiptRow;
use rat_things::engine::scope::{Scope, Scopes};
use rat_things::engine::turn::TurnRow;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Reads `long` and writes it again.
#[track_caller]
fn shortened<T: Serialize + DeserializeOwned>(long: &str) -> String {
    let row: T = serde_json::from_str(long).expect("an older row is read");
    let short = serde_json::to_string(&row).expect("it is written");
    let again: T = serde_json::from_str(&short).expect("what is written is read");
    assert_eq!(serde_json::to_string(&again).ok(), Some(short.clone()));
    assert!(short.len() < long.len(), "{short}");
    short
}

#[test]
fn rows_with_names_in_full_are_read() {
    let turn = shortened::<TurnRow>(
        r#"{"status":"completed","input":60,"created_ms":1,"started_ms":2,"completed_ms":3,"usage":{"input":7,"cached_input":1,"output":2,"reasoning":0},"first_item":178,"end_item":181,"runs":[60,61],"capture":{"artifacts":0}}"#,
    );
    assert_eq!(
        turn,
        r#"{"s":"completed","i":60,"at":1,"on":2,"end":3,"u":{"i":7,"c":1,"o":2,"r":0},"m":178,"z":181,"r":[60,61],"cap":{"artifacts":0}}"#
    );
    let usage = shortened::<ModelUsage>(r#"{"input":1,"cached_input":2,"output":3,"reasoning":4}"#);
    assert_eq!(usage, r#"{"i":1,"c":2,"o":3,"r":4}"#);
    let receipt = shortened::<ReceiptRow>(
        r#"{"digest":"95df","first_input":1,"outcomes":[{"became":"started","turn":1}],"accepted_ms":9}"#,
    );
    assert_eq!(
        receipt,
        r#"{"d":"95df","n":1,"o":[{"became":"started","turn":1}],"at":9}"#
    );
    let journal = shortened::<JournalRow>(
        r#"{"at_ms":9,"events":[{"e":"turn","t":1,"s":"queued"},{"e":"added","i":2}]}"#,
    );
    assert_eq!(
        journal,
        r#"{"at":9,"v":[{"e":"turn","t":1,"s":"queued"},{"e":"added","i":2}]}"#
    );
    let item = shortened::<ItemRow>(
        r#"{"turn":1,"output_index":0,"at_ms":9,"kind":"message","text":{"inline":"so"}}"#,
    );
    assert_eq!(
        item,
        r#"{"turn":1,"o":0,"at":9,"kind":"message","text":{"inline":"so"}}"#
    );
    let input = shortened::<InputRow>(
        r#"{"kind":"message","content":{"inline":[]},"meant_for":1,"accepted_ms":9,"state":"accepted"}"#,
    );
    assert_eq!(
        input,
        r#"{"kind":"message","content":{"inline":[]},"meant_for":1,"at":9,"state":"accepted"}"#
    );
}

#[test]
fn keys_from_before_scopes_are_for_everything_and_stay_as_they_are() {
    let old = r#"{"id":"key_a","name":"laptop","digest":"95df","created_ms":1,"expires_ms":9}"#;
    let key: AccessKey = serde_json::from_str(old).expect("an older row is read");
    assert_eq!(key.scopes, Scopes::All);
    assert_eq!(key.limits, Default::default());
    assert!(Scope::ALL.iter().all(|scope| key.scopes.allow(*scope)));
    assert_eq!(serde_json::to_string(&key).ok().as_deref(), Some(old));
    let new = r#"{"id":"key_a","name":"ci","digest":"95df","created_ms":1,"scopes":["api.agents.read"],"requests_per_second":5,"body_bytes":4096}"#;
    let key: AccessKey = serde_json::from_str(new).expect("a row of today is read");
    assert_eq!(key.scopes, Scopes::only([Scope::AgentsRead]));
    assert_eq!(serde_json::to_string(&key).ok().as_deref(), Some(new));
}
