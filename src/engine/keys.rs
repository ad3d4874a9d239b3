//! Where every record is. One partition per Session, one per owner, a few for the agenda.

use super::ids::{SessionId, sha256_hex};
use super::ports::{Key, Principal};
use super::subagent;

/// Shards of each agenda group: enough partitions for a busy DynamoDB table, few enough to look at all of them.
pub const AGENDA_SHARDS: u32 = 4;

/// The two work groups (I9): a failed notification never reruns a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Group {
    /// Turns, recovery, deletion.
    Execute,
    /// Notifications.
    Deliver,
}

impl Group {
    /// Its name in keys and on screens.
    pub fn name(self) -> &'static str {
        match self {
            Group::Execute => "execute",
            Group::Deliver => "deliver",
        }
    }
}

/// The namespace of a principal: a hash, so that no key tells who it is (I3).
pub fn owner_of(principal: &Principal) -> String {
    sha256_hex(format!("rat-things/owner/1\0{}", principal.name).as_bytes())[..32].to_owned()
}

/// Partition of a Session.
pub fn session_partition(session: &SessionId) -> String {
    ["S/", session.as_str()].concat()
}

/// Partition of an owner's lists.
pub fn owner_partition(owner: &str) -> String {
    format!("O/{owner}")
}

/// Partition of one agenda shard.
pub fn agenda_partition(group: Group, shard: u32) -> String {
    format!("A/{}/{shard}", group.name())
}

/// The agenda row of a Session that is due at `due_ms`.
pub fn agenda(group: Group, session: &SessionId, due_ms: u64) -> Key {
    let shard = session.as_str().bytes().map(u32::from).sum::<u32>() % AGENDA_SHARDS;
    Key::new(
        agenda_partition(group, shard),
        format!("{due_ms:015}/{session}"),
    )
}

/// Due time and Session of an agenda row's sort key.
pub fn parse_agenda(sort: &str) -> Option<(u64, SessionId)> {
    let (due, session) = sort.split_once('/')?;
    Some((due.parse().ok()?, SessionId::parse(session)?))
}

/// Sort key of the head.
pub const HEAD: &str = "head";
/// Sort key of the Session's configuration.
pub const CONFIG: &str = "config";
/// Sort key of the state of its own that the Session's harness kept last.
pub const CHECKPOINT: &str = "checkpoint";
/// Sort key of the marker of an import that is not over. There is no head then.
pub const IMPORT: &str = "import";

/// A number behind a prefix, with as many zeros before it as make it so wide: such keys sort as their numbers do. Written by hand, because each Turn
/// makes dozens of them.
fn numbered(prefix: &str, number: u64, width: usize) -> String {
    const WIDEST: usize = 20;
    let mut digits = [b'0'; WIDEST];
    let (mut at, mut rest) = (WIDEST, number);
    while rest > 0 {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    let digits = &digits[at.min(WIDEST - width)..];
    let mut key = String::with_capacity(prefix.len() + digits.len());
    key.push_str(prefix);
    key.extend(digits.iter().map(|digit| char::from(*digit)));
    key
}

/// `input/<n>`
pub fn input(n: u64) -> String {
    numbered("input/", n, 10)
}

/// `end/<n>`: how input n ended
pub fn input_end(n: u64) -> String {
    numbered("end/", n, 10)
}

/// What the keys of Turns begin with.
pub const TURNS: &str = "turn/";

/// `turn/<n>`, or `subagent-turn/<subagent>/<n>`
pub fn turn(n: u64) -> String {
    match subagent::split(n) {
        None => numbered(TURNS, n, 10),
        Some(at) => within(SUBAGENT_TURN, at),
    }
}

/// `item/<n>`, or `subagent-item/<subagent>/<n>`
pub fn item(n: u64) -> String {
    match subagent::split(n) {
        None => numbered("item/", n, 10),
        Some(at) => within(SUBAGENT_ITEM, at),
    }
}

/// `subagent/<n>`
pub fn subagent(n: u64) -> String {
    numbered("subagent/", n, 10)
}

/// What the sort key of a subagent's Turn begins with.
pub const SUBAGENT_TURN: &str = "subagent-turn/";
/// What the sort key of a subagent's Item begins with.
pub const SUBAGENT_ITEM: &str = "subagent-item/";

fn within(prefix: &str, (subagent, n): (u64, u64)) -> String {
    let before = numbered(prefix, subagent, 10);
    numbered(&[&before, "/"].concat(), n, 10)
}

/// The number of a Turn's sort key, whosever it is.
pub fn parse_turn(sort: &str) -> Option<u64> {
    number(sort, TURNS).or_else(|| number_within(sort, SUBAGENT_TURN))
}

/// The number of an Item's sort key, whosever it is.
pub fn parse_item(sort: &str) -> Option<u64> {
    number(sort, "item/").or_else(|| number_within(sort, SUBAGENT_ITEM))
}

fn number_within(sort: &str, prefix: &str) -> Option<u64> {
    let (of, n) = sort.strip_prefix(prefix)?.split_once('/')?;
    let of: u64 = of.parse().ok()?;
    let (of, n) = (u32::try_from(of).ok()?, n.parse::<u32>().ok()?);
    Some(subagent::within(of.into(), n.into()))
}

/// `journal/<revision>`
pub fn journal(revision: u64) -> String {
    numbered("journal/", revision, 12)
}

/// `run/<generation>`
pub fn run(generation: u64) -> String {
    numbered("run/", generation, 10)
}

/// `artifact/<turn>/<n>`
pub fn artifact(turn: u64, n: u64) -> String {
    format!("artifact/{turn:010}/{n:05}")
}

/// `delivery/<id>`
pub fn delivery(id: &str) -> String {
    format!("delivery/{id}")
}

/// `owed/<due time>/<id>`: a delivery that is to be sent, or is being sent. Few, however many there ever were.
pub fn owed(due_ms: u64, id: &str) -> String {
    format!("owed/{due_ms:015}/{id}")
}

/// Due time and id of an owed delivery's sort key.
pub fn parse_owed(sort: &str) -> Option<(u64, &str)> {
    let (due, id) = sort.strip_prefix("owed/")?.split_once('/')?;
    Some((due.parse().ok()?, id))
}

/// `receipt/<key hash>`: the hash, so that a caller's key is never stored in the clear and has a bounded length.
pub fn receipt(key_hash: &str) -> String {
    format!("receipt/{key_hash}")
}

/// Hash of a caller's idempotency key.
pub fn key_hash(key: &str) -> String {
    sha256_hex(format!("rat-things/key/1\0{key}").as_bytes())[..32].to_owned()
}

/// The number behind a prefix in a sort key such as `turn/0000000007`.
pub fn number(sort: &str, prefix: &str) -> Option<u64> {
    sort.strip_prefix(prefix)?.parse().ok()
}

/// In the owner's partition: Sessions by creation time.
pub fn session_by_time(created_ms: u64, session: &str) -> String {
    format!("sessions/{created_ms:015}/{session}")
}

/// In the owner's partition: Sessions by id, for prefixes and cursors.
pub fn session_by_id(session: &str) -> String {
    format!("session-id/{session}")
}

/// In the owner's partition: the Session whose environment this is.
pub fn environment(id: &str) -> String {
    format!("environment/{id}")
}

/// In the owner's partition: a saved Agent.
pub fn agent(id: &str) -> String {
    format!("agent/{id}")
}

/// In the owner's partition: Agents by creation time.
pub fn agent_by_time(created_ms: u64, id: &str) -> String {
    format!("agents/{created_ms:015}/{id}")
}

/// In the owner's partition: the receipt of a creation under a key.
pub fn create_receipt(key_hash: &str) -> String {
    format!("create/{key_hash}")
}

/// In the owner's partition: an access key.
pub fn access_key(id: &str) -> String {
    format!("key/{id}")
}

/// Whose the access key with this digest is. A partition each, because callers of all owners look here.
pub fn key_holder(digest: &str) -> Key {
    Key::new(format!("K/{digest}"), "key")
}

/// Partition of what is to be erased, of all owners.
pub const CHORES: &str = "E/due";

/// What is to be done at this time (`word`) to what has this name, of this owner.
pub fn chore(due_ms: u64, owner: &str, word: &str, name: &str) -> Key {
    Key::new(CHORES, format!("{due_ms:015}/{owner}/{word}/{name}"))
}

/// Owner and name of a chore's sort key.
pub fn parse_chore(sort: &str) -> Option<(&str, &str)> {
    let mut parts = sort.splitn(4, '/');
    let (due, owner) = (parts.next()?, parts.next()?);
    due.parse::<u64>().ok()?;
    Some((owner, parts.nth(1)?))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_numbered_key_is_what_a_format_would_make_of_it(
            number in prop_oneof![any::<u64>(), 0..2_000_u64, Just(0), Just(u64::MAX)],
            width in 1..=20_usize,
        ) {
            prop_assert_eq!(numbered("turn/", number, width), format!("turn/{number:0width$}"));
        }
    }
}
