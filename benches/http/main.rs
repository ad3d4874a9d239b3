//! What the HTTP face costs under load, beside the engine without it, as one table.
//!
//! `cargo bench --bench http` measures everything; `-- posts` and `streams` measure a part, and `--quick` only shows that the bench
//! works. Clients, server and engine share two threads in `posts`; in `streams` the server is a process of its own. What the rows mean
//! is in docs/performance.md.

mod client;
#[path = "../engine/counted.rs"]
#[allow(dead_code, reason = "shared with the bench of the engine")]
mod counted;
#[path = "../floor.rs"]
#[allow(dead_code, reason = "shared with the bench of the store")]
mod floor;
mod posts;
#[allow(dead_code, reason = "shared with the bench of the store")]
#[path = "../setting.rs"]
mod setting;
mod streams;
#[path = "../engine/table.rs"]
mod table;
#[allow(dead_code, reason = "shared with the bench of the engine")]
#[path = "../engine/world.rs"]
mod world;

use std::env;
use std::io;

use setting::{ROLE, real_time, say};
use table::Table;

fn main() -> io::Result<()> {
    if env::var(ROLE).as_deref() == Ok(streams::SERVER) {
        return streams::role();
    }
    let (options, asked): (Vec<String>, Vec<String>) =
        env::args().skip(1).partition(|arg| arg.starts_with('-'));
    let quick = options.iter().any(|option| option == "--quick");
    let wanted = |part: &str| asked.is_empty() || asked.iter().any(|asked| asked == part);
    if !real_time() {
        say(
            "(no real-time priority permitted: on a busy machine every sync waits for a time slice)",
        );
    }
    let table = Table::default();
    table.head();
    let dir = tempfile::tempdir()?;
    if wanted("posts") {
        posts::measure(&dir.path().join("posts"), &table, quick)?;
    }
    if wanted("streams") {
        streams::measure(&dir.path().join("streams"), &table, quick)?;
    }
    table.end();
    Ok(())
}
