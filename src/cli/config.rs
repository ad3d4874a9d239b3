//! Configuration: profiles, precedence, and errors that name the line and the nearest key.
