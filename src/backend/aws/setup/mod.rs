//! What a deployment consists of in an AWS account, and what is needed to set it up: one description, from which plan, CloudFormation
//! template and IAM policies are made.
//!
//! The records and content that live there are those of the ports beside it. The surprise is that roles are never made by this program:
//! who may do what is for the account's owner to grant, and so policies and template are printed.
//!
//! Read in this order: `deployment` (names), `desired` (the description), `plan`, `account` and `look` (what is there), `make` (what is
//! changed), `program` (what machines run), `unmake` (all of it gone), `operations` (what the program calls), `policy`, `template`.

pub mod account;
pub mod deed;
pub mod deployment;
pub mod desired;
mod look;
mod make;
pub mod operations;
pub mod plan;
pub mod policy;
pub mod program;
pub mod rules;
pub mod template;
pub mod unmake;

#[cfg(test)]
mod tests;
