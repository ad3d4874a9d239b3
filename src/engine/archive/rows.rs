//! The rows of an archive: one JSON object a line, `{"key":…,"value":…}`, in the order of their keys.
//!
//! Reading is strict: a row must be of a kind that this program knows and must decode as one, and its number must be one that the
//! head has given out.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::engine::check::{Around, Finding, SessionFacts};
use crate::engine::core::encode;
use crate::engine::ids::SessionId;
use crate::engine::keys::{self, Group};
use crate::engine::ports::Range;
use crate::engine::session::Head;
use crate::engine::sessions::Config;
use crate::engine::subagent;

/// Rows read at once.
const PAGE_ROWS: usize = 64;

#[derive(Serialize)]
struct LineOut<'a> {
    key: &'a str,
    value: &'a RawValue,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LineIn<'a> {
    #[serde(borrow)]
    key: Cow<'a, str>,
    #[serde(borrow)]
    value: &'a RawValue,
}

/// Whether a row with this sort key goes into an archive as one. The head has its own entry; the marker of an import is none of the
/// Session's rows.
pub(super) fn is_carried(sort: &str) -> bool {
    sort != keys::HEAD && sort != keys::IMPORT
}

/// Ranges that have a Session's rows in the order of an archive: the journal last.
pub(super) fn in_order(session: &SessionId) -> [Range; 3] {
    let journal = Range::prefix(keys::session_partition(session), "journal/", PAGE_ROWS);
    let before = Range {
        from: String::new(),
        until: Some(journal.from.clone()),
        ..journal.clone()
    };
    let behind = Range {
        from: journal.until.clone().unwrap_or_default(),
        until: None,
        ..journal.clone()
    };
    [before, behind, journal]
}

/// The bytes that rows name: length by digest.
///
/// # Errors
/// The digest that is named with two lengths.
pub(super) fn named_blobs(facts: &SessionFacts) -> Result<BTreeMap<String, u64>, String> {
    let mut named = BTreeMap::new();
    for (_, blob) in facts.blobs() {
        let known = named.insert(blob.sha256.clone(), blob.size_bytes);
        if known.is_some_and(|size_bytes| size_bytes != blob.size_bytes) {
            return Err(blob.sha256.clone());
        }
    }
    Ok(named)
}

/// What is wrong with a Session's rows that no store can mend by itself. `at_ms` is when they were read (Unix ms).
pub(super) fn unsound(facts: &SessionFacts, session: &SessionId, at_ms: u64) -> Vec<Finding> {
    // Lists and agenda are not in an archive: they are made anew from the head, so they are taken as right.
    let agenda = facts.head().map(|head| head.agenda).unwrap_or_default();
    let entry = |group: Group| agenda.of(group).map(|due_ms| (group, due_ms));
    let around = Around {
        listed_by_time: true,
        listed_by_id: true,
        agenda: [Group::Execute, Group::Deliver]
            .into_iter()
            .filter_map(entry)
            .collect(),
    };
    let mut found = facts.findings(session, &around, at_ms);
    found.retain(|finding| !finding.repair.is_safe());
    found
}

/// A configuration as it leaves its store: without the values of its environment's variables and those that its tools use, which are nobody
/// else's business.
/// `None`: it has none.
pub(super) fn without_variables(value: &[u8]) -> Option<Vec<u8>> {
    // One that can't be read is a finding, and not exported at all.
    let mut config: Config = serde_json::from_slice(value).ok()?;
    let sealed = config.variables.take();
    // Older rows have them in the open.
    let open = config
        .environment
        .as_mut()
        .map(|spec| std::mem::take(&mut spec.env));
    let of_tools = config.tool_secrets.take();
    let had_any =
        sealed.is_some() || of_tools.is_some() || open.is_some_and(|values| !values.is_empty());
    had_any.then(|| encode(&config))
}

/// A row as a line, newline included.
pub(super) fn line(sort: &str, value: &[u8]) -> Result<Vec<u8>, String> {
    let value: &RawValue = serde_json::from_slice(value).map_err(|e| e.to_string())?;
    let mut line = serde_json::to_vec(&LineOut { key: sort, value }).map_err(|e| e.to_string())?;
    if line.contains(&b'\n') {
        return Err("its value is spread over several lines".to_owned());
    }
    line.push(b'\n');
    Ok(line)
}

/// Sort key and value of a line without its newline.
pub(super) fn parse_line(line: &[u8]) -> Result<(String, Vec<u8>), String> {
    let line: LineIn<'_> = serde_json::from_slice(line).map_err(|e| e.to_string())?;
    let value = line.value.get().as_bytes().to_vec();
    Ok((line.key.into_owned(), value))
}

/// Whether the head has given out the number in this sort key. Keys without a number are fine, in the form that the engine gives
/// them.
pub(super) fn is_of(head: &Head, sort: &str) -> bool {
    let below = |prefix: &str, next: u64, key: fn(u64) -> String| {
        keys::number(sort, prefix).is_some_and(|n| n >= 1 && n < next && key(n) == sort)
    };
    let within = |number: Option<u64>, key: fn(u64) -> String| {
        number.is_some_and(|number| {
            let at = subagent::split(number);
            let given = at.is_some_and(|(of, n)| of < head.next.subagent && n >= 1);
            given && key(number) == sort
        })
    };
    let plain = |rest: &str| {
        !rest.is_empty()
            && rest
                .bytes()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
    };
    match sort.split_once('/') {
        None => sort == keys::CONFIG || sort == keys::CHECKPOINT,
        Some(("input", _)) => below("input/", head.next.input, keys::input),
        Some(("end", _)) => below("end/", head.next.input, keys::input_end),
        Some(("turn", _)) => below(keys::TURNS, head.next.turn, keys::turn),
        Some(("item", _)) => below("item/", head.next.item, keys::item),
        Some(("subagent", _)) => below("subagent/", head.next.subagent, keys::subagent),
        Some(("subagent-turn", _)) => within(keys::parse_turn(sort), keys::turn),
        Some(("subagent-item", _)) => within(keys::parse_item(sort), keys::item),
        Some(("journal", _)) => below("journal/", head.revision + 1, keys::journal),
        Some(("run", _)) => below("run/", head.fence.generation + 1, keys::run),
        Some(("artifact", rest)) => {
            let position = rest.split_once('/');
            let position =
                position.and_then(|(turn, n)| Some((turn.parse().ok()?, n.parse().ok()?)));
            position.is_some_and(|(turn, n): (u64, u64)| {
                turn >= 1 && turn < head.next.turn && keys::artifact(turn, n) == sort
            })
        }
        Some(("receipt" | "delivery", rest)) => plain(rest),
        Some(("owed", _)) => {
            let owed = keys::parse_owed(sort);
            owed.is_some_and(|(due_ms, id)| plain(id) && keys::owed(due_ms, id) == sort)
        }
        Some(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_gives_back_exactly_the_bytes_it_was_made_of() {
        for value in [&br#"{"a":1.50,"b":"\u00e9\n","a":2}"#[..], b"null", b"[]"] {
            let line = line("item/0000000001", value).expect("a line");
            let (sort, read) = parse_line(&line[..line.len() - 1]).expect("reads");
            assert_eq!((sort.as_str(), &read[..]), ("item/0000000001", value));
        }
        assert!(line("k", b"").is_err());
        assert!(line("k", b"{\n}").is_err());
        assert!(parse_line(br#"{"key":"a","value":1,"more":2}"#).is_err());
    }

    #[test]
    fn keys_that_nobody_gave_out_are_refused() {
        let mut head = Head::new("o".into(), 1);
        head.next.item = 3;
        head.next.subagent = 2;
        head.fence.generation = 2;
        head.revision = 7;
        for good in [
            "config",
            "checkpoint",
            "item/0000000002",
            "subagent/0000000001",
            "subagent-turn/0000000001/0000000009",
            "subagent-item/0000000001/0000000001",
            "run/0000000002",
            "journal/000000000007",
            "receipt/0a1b",
            "delivery/dlv_abc",
        ] {
            assert!(is_of(&head, good), "{good}");
        }
        for bad in [
            "",
            "head",
            "item/0000000003",
            "item/0000000000",
            "item/2",
            "item/+000000002",
            "item/4294967297",
            "subagent/0000000002",
            "subagent-turn/0000000002/0000000001",
            "subagent-item/0000000001/0000000000",
            "subagent-item/0000000000/0000000001",
            "subagent-item/1/1",
            "run/0000000003",
            "journal/000000000008",
            "artifact/0000000001/00000",
            "receipt/",
            "receipt/../x",
            "owed/1/x",
            "secret/1",
        ] {
            assert!(!is_of(&head, bad), "{bad}");
        }
    }
}
