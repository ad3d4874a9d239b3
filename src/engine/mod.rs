//! The engine: what a Session is, and the journey of one input through it. No IO of its own: everything outside is a port.
//!
//! Read the nouns first ([`session`], [`turn`], [`item`], [`input`], [`fence`], [`delivery`]), then the journey in this order:
//! [`accept`] (with [`prepare`]), [`dispatch`] (with [`agenda`] and [`claim`]), [`run`] (with [`work`]), [`observe`], [`settle`]
//! (with [`finish`]), [`deliver`] (with [`outbox`]), [`recover`], and [`erase`] at the very end.
//! [`post`] is a worker that has a machine to itself; [`reap`] ends machines that nobody needs, and [`halt`] everything.
//! [`draft`] is the one way in which anything is ever changed; [`check`] states what must hold of the records that result.
//! What an owner keeps in no Session ([`files`], [`vaults`], [`credentials`], [`templates`]) stands on [`owned`], and is erased by
//! [`chores`].
//! [`archive`] carries a Session from one store to another; [`fsck`] checks a whole store; [`measure`] counts for who watches over it.

pub mod accept;
pub mod access;
mod aftermath;
pub mod agenda;
pub mod agents;
pub mod archive;
pub mod artifact;
mod call_view;
pub mod check;
pub mod checkpoint;
pub mod chores;
pub mod claim;
mod claimed;
pub mod core;
mod credential_auth;
pub mod credentials;
pub mod deliver;
pub mod delivery;
pub mod dispatch;
pub mod draft;
mod driven;
pub mod embedded;
pub mod environment;
pub mod environments;
pub mod erase;
pub mod error;
pub mod events;
pub mod expire;
mod feed;
pub mod fence;
pub mod files;
pub mod finish;
pub mod foretaste;
pub mod fsck;
mod giving_up;
pub mod halt;
mod heed;
pub mod history;
pub mod ids;
pub mod input;
mod inspect;
pub mod item;
pub mod journal;
pub mod keys;
pub mod lazy;
mod live;
pub mod measure;
pub mod observe;
mod observer;
pub mod open_call;
pub mod operating;
pub mod outbox;
pub mod overhear;
pub mod overhearing;
pub mod owned;
pub mod ports;
pub mod position;
pub mod post;
pub mod prepare;
pub mod reached;
pub mod read;
pub mod reap;
pub mod receipt;
mod recent;
pub mod recover;
pub mod run;
pub mod scope;
pub mod session;
pub mod sessions;
pub mod settle;
mod shared;
mod soundness;
pub mod start_files;
mod starting;
mod steps;
pub mod subagent;
mod subagents;
mod superseded;
pub mod templates;
pub mod tools;
pub mod turn;
pub mod vaults;
pub mod view;
pub mod weight;
mod words;
pub mod work;
pub mod writing;
