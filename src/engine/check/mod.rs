//! The checker: what must hold of stored records after every commit, whatever happened, as predicates over one Session.
//!
//! It is not a repair and reads nothing itself: whoever has the records gives them row by row ([`SessionFacts::take`]), in any
//! order, and asks for what is wrong ([`SessionFacts::findings`]). Of each row only what the rules compare is kept, never a body,
//! so that a store is checked Session by Session in little memory. What surprises: the same facts may be kept beside a living
//! store and brought up to date row by row, which is how every commit of a simulation is checked.
//!
//! What a Session's own records can't show is given in [`Around`]: its agenda entries and its places in its owner's lists.
//! An owner's other records are checked by [`OwnerFacts`]; which bytes exist is asked by the caller, for each of
//! [`SessionFacts::blobs`].

mod agenda;
mod artifacts;
mod checkpoint;
mod deliveries;
mod facts;
mod finding;
mod head;
mod inputs;
mod items;
mod journal;
mod order;
mod owner;
mod receipts;
mod rows;
mod runs;
mod subagents;
mod turns;

pub use facts::{Around, SessionFacts};
pub use finding::{Finding, Invariant, Repair};
pub use owner::OwnerFacts;
