//! What a deployment consists of in an AWS account, and what is needed to set it up: one description, from which plan, CloudFormation
//! template and IAM policies are made.
//!
//! It does not run anything: the records and content that live here are those of the ports beside it. The surprise is that roles are
//! never made by this program: who may do what is for the account's owner to grant, and so policies and template are printed.
//!
//! Read in this order: `deployment` (names), `desired` (the description), `plan`, `operations` (what the program calls), `policy`,
//! `template`.

pub mod deployment;
pub mod desired;
pub mod operations;
pub mod plan;
pub mod policy;
pub mod template;

#[cfg(test)]
mod tests;
