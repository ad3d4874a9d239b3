//! What the screen costs, as one table: frames, first paint, keys, memory, and what an idle screen does.
//!
//! `cargo bench --bench tui` measures everything; `-- frames` and `-- program` measure a part, and `--quick` only shows that the bench works.
//! Frames are drawn in this process; the rest is the program on a terminal of the bench's own. What the rows mean is in docs/performance.md.

#[allow(dead_code, reason = "shared with the bench of the engine")]
#[path = "../engine/counted.rs"]
mod counted;
#[allow(dead_code, reason = "shared with the bench of the engine")]
#[path = "../floor.rs"]
mod floor;
mod frames;
mod program;
#[allow(dead_code, reason = "shared with the bench of the store")]
#[path = "../setting.rs"]
mod setting;
#[allow(dead_code, reason = "shared with the bench of the engine")]
#[path = "../engine/table.rs"]
mod table;
mod terminal;
#[allow(dead_code, reason = "shared with the bench of the engine")]
#[path = "../engine/world.rs"]
mod world;

use std::env;
use std::io;
use std::path::Path;

use table::Table;

/// How much is measured.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Size {
    /// Enough for figures.
    Full,
    /// Enough to see that it works.
    Quick,
}

impl Size {
    /// The first number of a full run, the second of a quick one.
    pub fn of(self, full: usize, quick: usize) -> usize {
        match self {
            Size::Full => full,
            Size::Quick => quick,
        }
    }
}

/// A part of the report.
type Part = fn(&Path, &Table, Size) -> io::Result<()>;

/// All of them, in their order.
const PARTS: [(&str, Part); 2] = [("frames", frames::measure), ("program", program::measure)];

fn main() -> io::Result<()> {
    let (options, asked): (Vec<String>, Vec<String>) =
        env::args().skip(1).partition(|arg| arg.starts_with('-'));
    let size = match options.iter().any(|option| option == "--quick") {
        true => Size::Quick,
        false => Size::Full,
    };
    let known = |name: &String| PARTS.iter().any(|(part, _)| part == name);
    if let Some(unknown) = asked.iter().find(|name| !known(name)) {
        let parts = PARTS.map(|(part, _)| part).join(", ");
        return Err(io::Error::other(format!(
            "no part {unknown:?}; there are {parts}"
        )));
    }
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    setting::say(&format!("load of this machine: {}", load.trim()));
    let table = Table::default();
    table.head();
    for (name, part) in PARTS {
        if asked.is_empty() || asked.iter().any(|asked| asked == name) {
            let dir = tempfile::tempdir()?;
            part(dir.path(), &table, size)?;
        }
    }
    table.end();
    Ok(())
}
