//! Blobs as files: written aside, synced, renamed, verified on read.
