//! Archives: one Session as a list of named entries, written by one store and read by another.
//!
//! What an archive holds, in which order it is imported and what is rewritten on the way is decided here; files, tar and
//! compression are somebody else's ([`ArchiveSink`], [`ArchiveSource`]). An import reads its archive twice: the first time nothing
//! is written, so that an archive which is not whole changes nothing. The surprise: an imported Session becomes visible with its
//! head, which is written last; until then its rows belong to nobody, and a marker in the owner's partition says why they are there.
//!
//! Read in this order: `format`, `rows` and `cache` (what is inside), `export`, `walk` (strict reading), `arrive` (what changes when a
//! Session comes to another store), `import`, `staging` and `marker` (how it gets there, and how that is given up).

mod arrive;
mod cache;
mod error;
mod export;
mod format;
mod import;
mod marker;
mod rows;
mod staging;
mod stream;
mod walk;

pub use error::ArchiveError;
pub use export::Exported;
pub use format::{Blob, FORMAT, Manifest, Part, VERSION};
pub use import::{Imported, Progress};
pub use marker::{Marker, unfinished};
pub use stream::{ArchiveSink, ArchiveSource, EntryHead};
