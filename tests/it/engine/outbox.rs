//! What must hold of the deliveries of a Session.

use rat_things::engine::session::Head;

use super::records::Rows;

/// When the head says that the Session's deliveries are due.
pub fn due(_head: &Head) -> Option<u64> {
    None
}

/// Every rule that the delivery rows break.
pub fn violations(_rows: &Rows, _head: &Head) -> Vec<String> {
    Vec::new()
}
