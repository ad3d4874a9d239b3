//! See the index.
