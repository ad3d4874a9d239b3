//! Why a Session is over whose environment has expired, and what is left to do. Pure.

use super::cause::{ELSEWHERE, Explanation, START};
use super::facts::{Attendance, Facts};
use crate::engine::expire::Expiry;
use crate::text::duration;

/// `turn`: one is still open.
pub(super) fn explanation(facts: &Facts, expiry: &Expiry, turn: bool) -> Explanation {
    let since = duration(facts.now_ms.saturating_sub(expiry.at_ms));
    let message = format!("its environment expired {since} ago: {}", expiry.why);
    let explained = Explanation::of("expired", message);
    let left = match (turn, expiry.erased) {
        (false, true) => {
            let stays = "it takes no more messages; transcript and artifacts stay readable";
            let create = "rat-things sessions create --input '…'";
            return explained.also("final", stays).next(create);
        }
        (true, _) => "its open turns are still to be ended",
        (false, false) => "its workspace is still to be erased",
    };
    match facts.daemon {
        Attendance::Nobody => {
            let explained = explained.also("no_daemon", format!("{left}, and no daemon runs"));
            explained.person(START)
        }
        Attendance::Unseen => explained
            .also("erasing", left)
            .also("daemons_unseen", ELSEWHERE)
            .next(START),
        Attendance::Here(_) => explained.also("erasing", left),
    }
}
