//! What must hold of the deliveries of a Session.

use std::collections::BTreeMap;

use rat_things::engine::delivery::DeliveryRow;
use rat_things::engine::ids::{Kind, well_formed};
use rat_things::engine::keys;
use rat_things::engine::session::Head;

use super::records::Rows;

/// When the head says that the Session's deliveries are due.
pub fn due(head: &Head) -> Option<u64> {
    head.delivery_due()
}

/// Every rule that the delivery rows break.
pub fn violations(rows: &Rows, head: &Head) -> Vec<String> {
    let mut broken = Vec::new();
    let mut owed: BTreeMap<String, u64> = BTreeMap::new();
    for (sort, _) in rows.behind("owed/") {
        let Some((due_ms, id)) = keys::parse_owed(sort) else {
            broken.push(format!("{sort} is no entry"));
            continue;
        };
        if owed.insert(id.to_owned(), due_ms).is_some() {
            broken.push(format!("{id} is owed twice"));
        }
    }
    let first = owed.values().min().copied();
    let said = head.deliveries_due_ms;
    if said.is_some() != first.is_some() || said > first {
        broken.push(format!(
            "deliveries are due {first:?}, the head says {said:?}"
        ));
    }
    for (sort, _) in rows.behind("delivery/") {
        let id = sort.trim_start_matches("delivery/");
        let row: DeliveryRow = rows.get(sort).expect("just seen");
        if !well_formed(Kind::Delivery, id) {
            broken.push(format!("{sort} has no id of a delivery"));
        }
        let entry = owed.remove(id);
        let expected = row.state.is_owed().then_some(row.due_ms);
        if entry != expected {
            broken.push(format!(
                "{id} is {}, due {expected:?}, entry {entry:?}",
                row.state
            ));
        }
    }
    if !owed.is_empty() {
        broken.push(format!("owed, but no deliveries: {owed:?}"));
    }
    broken
}
