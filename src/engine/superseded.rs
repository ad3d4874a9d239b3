//! Superseded: bytes of a harness's own state that the state in its place does not name. They go a day later at the earliest.
//!
//! The commit that replaces a checkpoint leaves a chore that names them, so they are given up under the same fence, and only after the row that
//! named them is gone. Whoever reads by the old row has a day. The same bytes are stored once for all rows of a Session: all of those are looked at first, once a
//! day for all that the Session left since. Bytes that are stored again meanwhile stay.

use std::collections::BTreeSet;

use super::chores::{Chore, UNNAMED_MS};
use super::core::{Core, encode};
use super::draft::Draft;
use super::error::EngineError;
use super::ids::{SessionId, sha256_hex};
use super::keys;
use super::ports::{Change, Guard, Key, Record, Write};

const DAY_MS: u64 = 24 * 3_600_000;
/// Chores that one commit removes.
const DONE_AT_ONCE: usize = 20;

/// Has them removed, if no row names them by then.
pub(super) fn note(draft: &mut Draft, digests: &BTreeSet<String>) {
    let Some(first) = digests.first() else {
        return;
    };
    let (session, head) = (draft.session.clone(), &draft.head);
    let name = format!("{session}.{}.{first}", head.revision);
    let due_ms = due_ms(&session, draft.now_ms);
    let key = keys::chore(due_ms, &head.owner, Chore::SUPERSEDED, &name);
    let chore = Chore::Superseded {
        session,
        sha256s: digests.iter().cloned().collect(),
    };
    draft.write(key, Guard::Any, Change::Put(encode(&chore)));
}

/// When a Session's bytes go that are superseded now: at its own time of the day, so that not all Sessions are looked at together.
fn due_ms(session: &SessionId, now_ms: u64) -> u64 {
    let digest = sha256_hex(session.as_str().as_bytes());
    let of_day_ms = digest
        .get(..8)
        .and_then(|digits| u64::from_str_radix(digits, 16).ok())
        .unwrap_or_default()
        % DAY_MS;
    let earliest_ms = now_ms + UNNAMED_MS;
    earliest_ms + (DAY_MS + of_day_ms - earliest_ms % DAY_MS) % DAY_MS
}

/// Chores of one Session that are done together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Sweep {
    pub(super) owner: String,
    pub(super) session: SessionId,
    pub(super) keys: Vec<Key>,
    pub(super) digests: BTreeSet<String>,
}

impl Sweep {
    /// Of one chore, if it is one of this kind.
    pub(super) fn of(record: &Record) -> Option<Sweep> {
        let (owner, _) = keys::parse_chore(&record.key.sort)?;
        match serde_json::from_slice(&record.value).ok()? {
            Chore::Superseded { session, sha256s } => Some(Sweep {
                owner: owner.to_owned(),
                session,
                keys: vec![record.key.clone()],
                digests: sha256s.into_iter().collect(),
            }),
            _ => None,
        }
    }

    /// Adds one to others: it joins the last of them if that is of the same Session.
    pub(super) fn join(self, sweeps: &mut Vec<Sweep>) {
        match sweeps.last_mut() {
            Some(last) if (&last.owner, &last.session) == (&self.owner, &self.session) => {
                last.keys.extend(self.keys);
                last.digests.extend(self.digests);
            }
            _ => sweeps.push(self),
        }
    }
}

impl Core {
    /// Removes what no row of the Session names, and then the chores.
    pub(super) async fn sweep(&self, sweep: Sweep) -> Result<(), EngineError> {
        let Sweep {
            owner,
            session,
            keys,
            digests,
        } = sweep;
        let loaded = self.load(&session).await?;
        // Else it is erased whole, or somebody else's.
        if loaded.is_some_and(|l| l.head.owner == owner && l.head.deleted_ms.is_none()) {
            for sha256 in self.unnamed(&session, digests).await? {
                self.remove_or_later(&owner, &session, &sha256).await?;
            }
        }
        for some in keys.chunks(DONE_AT_ONCE) {
            let done = some.iter().map(|key| Write {
                key: key.clone(),
                guard: Guard::Any,
                change: Change::Delete,
            });
            self.commit_writes(done.collect()).await?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn session(letter: &str) -> SessionId {
        SessionId::parse(&format!("sess_{}", letter.repeat(26))).expect("an id")
    }

    #[test]
    fn a_session_has_a_time_of_the_day_that_is_never_less_than_a_day_away() {
        let of_day = |session: &SessionId, now_ms| due_ms(session, now_ms) % DAY_MS;
        for session in ["a", "b", "c"].map(session) {
            for now_ms in (0..3 * DAY_MS).step_by(7_777_777) {
                let due_ms = due_ms(&session, now_ms);
                assert!(due_ms >= now_ms + UNNAMED_MS, "{now_ms}");
                assert!(due_ms < now_ms + UNNAMED_MS + DAY_MS, "{now_ms}");
                assert_eq!(of_day(&session, now_ms), of_day(&session, 0));
            }
        }
        assert_ne!(of_day(&session("a"), 0), of_day(&session("b"), 0));
    }

    #[test]
    fn chores_of_one_session_are_done_together() {
        let record = |at: u64, session: &SessionId, digest: &str| Record {
            key: keys::chore(
                at,
                "o",
                Chore::SUPERSEDED,
                &format!("{session}.{at}.{digest}"),
            ),
            version: 1,
            value: encode(&Chore::Superseded {
                session: session.clone(),
                sha256s: vec![digest.to_owned()],
            }),
        };
        let (a, b) = (session("a"), session("b"));
        let mut sweeps = Vec::new();
        for record in [record(1, &a, "x"), record(2, &a, "y"), record(3, &b, "x")] {
            Sweep::of(&record).expect("it is one").join(&mut sweeps);
        }
        let digests = |sweep: &Sweep| sweep.digests.iter().cloned().collect::<String>();
        let found: Vec<_> = { sweeps.iter() }
            .map(|sweep| (sweep.session.clone(), sweep.keys.len(), digests(sweep)))
            .collect();
        assert_eq!(found, [(a, 2, "xy".to_owned()), (b, 1, "x".to_owned())]);
        let other = Record {
            value: encode(&Chore::File),
            ..record(4, &session("c"), "z")
        };
        assert_eq!(Sweep::of(&other), None);
    }
}
