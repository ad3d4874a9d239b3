//! Fsck over real files: what is sound stays without a finding, every kind of damage is named, and what can be repaired is, once.

mod damage;
mod place;
mod repair;
mod sound;
