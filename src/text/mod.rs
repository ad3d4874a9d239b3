//! Text that is safe to show, measured in display cells; times, sizes and durations in words.
//!
//! Everything here is pure: no terminal, no clock, no environment. Whoever prints decides where the words go; this module
//! decides that they cannot steer a terminal. Surprising: escaping is not reversible here. Where exact bytes matter, the
//! writers use the escapes of their own format instead ([`escape()`] for tab-separated values).

mod cells;
mod escape;
mod hidden;
mod quantity;
mod safe;
mod time;
mod wrap;

pub use cells::{cells, clusters, pad, truncate};
pub use escape::escape;
pub use hidden::{is_control, is_hidden};
pub use quantity::{count, duration, size};
pub use safe::{Glyphs, SafeBlock, SafeText};
pub use time::{TimeStyle, absolute, ago, rfc3339, stamp};
pub use wrap::wrap;
