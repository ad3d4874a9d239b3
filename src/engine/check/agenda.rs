//! The agenda follows from the head: what is owed has its entry in time (I13), what is not owed has none (I15).

use super::facts::{Around, HeadFact};
use super::finding::{Invariant, Repair, Report};
use crate::engine::keys::{self, Group};

pub(super) fn check(fact: &HeadFact, around: &Around, now_ms: u64, report: &mut Report) {
    let head = &fact.head;
    let groups = [
        (Group::Execute, head.execution_due(now_ms)),
        (Group::Deliver, head.delivery_due()),
    ];
    for (group, owed) in groups {
        let name = group.name();
        let entry = head.agenda.of(group);
        let sort = || keys::HEAD.to_owned();
        match (entry, owed) {
            (None, Some(due)) => {
                let what = format!("{name}: it owes work from {due} on, and names no entry");
                report.add(Invariant::I13, sort(), what, Repair::Reseal);
            }
            (Some(at), None) => {
                let what = format!("{name}: it owes nothing, and names an entry at {at}");
                report.add(Invariant::I15, sort(), what, Repair::Reseal);
            }
            // Early is fine, late is not.
            (Some(at), Some(due)) if at > due => {
                let what = format!("{name}: it owes work from {due} on, and its entry is at {at}");
                report.add(Invariant::I13, sort(), what, Repair::Reseal);
            }
            (Some(_), Some(_)) | (None, None) => {}
        }
        if let Some(due_ms) = entry
            && !around.agenda.contains(&(group, due_ms))
        {
            let key = keys::agenda(group, report.session(), due_ms);
            let what = "the session's head names this entry, and it is missing".to_owned();
            let repair = Repair::PutEntry { group, due_ms };
            report.elsewhere(Invariant::I13, key, what, repair);
        }
    }
    for &(group, due_ms) in &around.agenda {
        if head.agenda.of(group) != Some(due_ms) {
            stray(group, due_ms, report);
        }
    }
}

/// Entries of a Session that does not exist.
pub(super) fn check_headless(around: &Around, report: &mut Report) {
    for &(group, due_ms) in &around.agenda {
        stray(group, due_ms, report);
    }
}

fn stray(group: Group, due_ms: u64, report: &mut Report) {
    let key = keys::agenda(group, report.session(), due_ms);
    let what = "no head knows this entry".to_owned();
    let repair = Repair::RemoveEntry { group, due_ms };
    report.elsewhere(Invariant::I15, key, what, repair);
}
