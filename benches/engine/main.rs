//! What the engine costs on the local world, as one table: each figure beside what it was compared with in the same run, and its budget.
//!
//! `cargo bench --bench engine` measures everything; `-- accepts`, `slow`, `processes`, `turns`, `long`, `recovery`, `programs` and
//! `peers` measure a part, and `--quick` only shows that the bench works. With real-time priority where that is permitted. The data is
//! under `TMPDIR`, which should be on the disk that is meant. What the rows mean is in docs/performance.md.

mod accepts;
mod counted;
#[path = "../floor.rs"]
mod floor;
mod peer;
mod peers;
mod programs;
mod recovery;
#[allow(dead_code, reason = "shared with the bench of the store")]
#[path = "../setting.rs"]
mod setting;
mod table;
mod texts;
mod turns;
mod world;

use std::env;
use std::io;
use std::path::Path;

use setting::{ROLE, real_time, say};
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
const PARTS: [(&str, Part); 8] = [
    ("accepts", accepts::measure),
    ("slow", accepts::measure_slow),
    ("processes", accepts::measure_processes),
    ("turns", turns::measure),
    ("long", turns::measure_long),
    ("recovery", recovery::measure),
    ("programs", programs::measure),
    ("peers", peers::measure),
];

fn main() -> io::Result<()> {
    match env::var(ROLE).as_deref() {
        Ok(accepts::SHIMMED) => return accepts::role_slow(),
        Ok(accepts::BESIDE) => return accepts::role_beside(),
        Ok(recovery::VICTIM) => return recovery::role(),
        _ => {}
    }
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
    if !real_time() {
        say(
            "(no real-time priority permitted: on a busy machine every sync waits for a time slice)",
        );
    }
    let table = Table::default();
    table.head();
    for (name, part) in PARTS {
        if asked.is_empty() || asked.iter().any(|asked| asked == name) {
            // Of its own, so that what a part leaves behind is gone before the next one begins.
            let dir = tempfile::tempdir()?;
            part(dir.path(), &table, size)?;
        }
    }
    table.end();
    Ok(())
}
