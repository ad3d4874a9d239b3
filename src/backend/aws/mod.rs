//! The AWS world: records in one DynamoDB table, content in one S3 bucket, values that nobody may see in Secrets Manager, the caller as STS
//! knows it, and workers on instances of EC2.
//!
//! The engine is the same as over the local world; these are its ports. The surprise is where a row's bytes are: rows that hold content keep it
//! in S3, the content of one commit in one object, and DynamoDB has its digest and place (`content`).
//!
//! Read in this order: `client` (how AWS is reached), `fault` (what its errors mean), `calls` (what is counted), `store`, `blobs`,
//! `secrets`, `identity` and `caller` (who asks), `inventory` (everything there is), `compute` and `instance` (machines of workers), `setup` (a
//! deployment looked at, made and done away with).

pub mod blobs;
pub mod caller;
pub mod calls;
pub mod client;
pub mod compute;
mod content;
mod credentials;
pub mod fault;
pub mod identity;
pub mod instance;
pub mod inventory;

mod item;

pub mod secrets;
pub mod setup;
pub mod store;
