//! The SQLite store: one writer thread per process, groups of commits in one sync.
