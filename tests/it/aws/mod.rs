//! The AWS world against what stands in for AWS on loopback.

pub(crate) mod stand;
