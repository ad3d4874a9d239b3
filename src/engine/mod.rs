//! The engine: what a Session is, and the journey of one input through it. No IO of its own: everything outside is a port.
//!
//! Read the nouns first ([`session`], [`turn`], [`item`], [`input`], [`fence`], [`run`]), then the journey in this order:
//! `accept`, `dispatch`, `run`, `observe`, `settle`, `deliver`, `recover`.

pub mod ids;
pub mod ports;
