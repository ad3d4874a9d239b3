//! Configuration: profiles, precedence, and errors that name the line and the nearest key.

mod vars;

pub use vars::Vars;
