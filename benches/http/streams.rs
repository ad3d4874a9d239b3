//! A thousand open streams on one server: what each takes of its memory, and how long an event takes to all who follow its Session.

use std::collections::HashSet;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::net::SocketAddr;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Stdio};
use std::time::Duration;

use rat_things::api::{CancelInput, InputEvent, InputMessage, MessageInput};
use rat_things::engine::ids::SessionId;
use tokio::sync::mpsc;

use crate::client::Client;
use crate::floor::percentile;
use crate::posts::{inputs, serve};
use crate::setting::{again, micros, runtime, say};
use crate::table::{Budget, Table, number};
use crate::world::World;

/// The role of the process that serves.
pub const SERVER: &str = "serves streams";

/// Tells it where its data is.
const DIR: &str = "RAT_THINGS_BENCH_DIR";

/// Sessions that are followed.
const SESSIONS: usize = 10;

/// How long an event is waited for.
const PATIENCE: Duration = Duration::from_secs(10);

/// What the process that serves does: makes Sessions, says where they are, and for each number that it is given changes the Session of
/// that number and says when that was committed.
pub fn role() -> io::Result<()> {
    let dir = PathBuf::from(std::env::var_os(DIR).unwrap_or_default());
    runtime()?.block_on(async {
        let world = World::open(&dir).await?;
        let sessions = world.sessions(SESSIONS).await?;
        let (address, _stop) = serve(&world).await?;
        let names: Vec<&str> = sessions.iter().map(SessionId::as_str).collect();
        say(&format!("{address} {}", names.join(" ")));
        io::stdout().flush()?;
        let (asked, mut asks) = mpsc::unbounded_channel();
        std::thread::spawn(move || {
            for line in io::stdin().lines().map_while(Result::ok) {
                let _ = asked.send(line);
            }
        });
        let mut active = [false; SESSIONS];
        let mut number = 0;
        while let Some(line) = asks.recv().await {
            let at = line.parse::<usize>().unwrap_or(0) % SESSIONS;
            number += 1;
            // A message begins a Turn that nobody works on, and a cancel ends it: each is a commit with events.
            let event = match active[at] {
                true => InputEvent::Cancel(CancelInput { turn_id: None }),
                false => InputEvent::Message(MessageInput {
                    input: vec![InputMessage::text("hello")],
                    delivery: None,
                }),
            };
            active[at] = !active[at];
            let key = format!("key {number}");
            let events = [event];
            let sent = world.core.send(&world.owner, &sessions[at], &key, &events);
            sent.await.map_err(io::Error::other)?;
            say(&now_ns().to_string());
            io::stdout().flush()?;
        }
        Ok(())
    })
}

/// The same clock in every process, in nanoseconds.
fn now_ns() -> u64 {
    let mut now = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the call writes to the struct, which lives here.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// The process that serves.
struct Served {
    child: Child,
    out: BufReader<ChildStdout>,
    address: SocketAddr,
    sessions: Vec<String>,
}

impl Served {
    fn begin(dir: &Path) -> io::Result<Served> {
        let mut child = again(SERVER)?.env(DIR, dir).stdin(Stdio::piped()).spawn()?;
        let out = child.stdout.take();
        let mut out = BufReader::new(out.ok_or_else(|| io::Error::other("no pipe"))?);
        let mut line = String::new();
        out.read_line(&mut line)?;
        let mut words = line.split_whitespace();
        let address = words.next().and_then(|word| word.parse().ok());
        Ok(Served {
            child,
            out,
            address: address.ok_or_else(|| io::Error::other(format!("it said {line:?}")))?,
            sessions: words.map(str::to_owned).collect(),
        })
    }

    /// Changes a Session; when that was committed.
    fn change(&mut self, session: usize) -> io::Result<u64> {
        let pipe = self.child.stdin.as_mut();
        writeln!(
            pipe.ok_or_else(|| io::Error::other("no pipe"))?,
            "{session}"
        )?;
        let mut line = String::new();
        self.out.read_line(&mut line)?;
        line.trim().parse().map_err(io::Error::other)
    }

    /// Its memory, in KiB.
    fn resident_kib(&self) -> io::Result<f64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let number = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
        number.ok_or_else(|| io::Error::other("no VmRSS"))
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // It ends with its input; should it not, it is ended.
        drop(self.child.stdin.take());
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// An event that came: on which stream, of which Session, when.
type Came = (usize, usize, u64);

/// Opens so many streams, spread over the Sessions. What comes is told.
async fn open(
    served: &Served,
    numbers: Range<usize>,
    came: &mpsc::UnboundedSender<Came>,
) -> io::Result<()> {
    for number in numbers {
        let at = number % SESSIONS;
        let session = SessionId::parse(&served.sessions[at]);
        let session = session.ok_or_else(|| io::Error::other("no Session"))?;
        let mut client = Client::connect(served.address).await?;
        let status = client.open(&inputs(&session)).await?;
        if status != 200 {
            return Err(io::Error::other(format!(
                "stream {number} answered {status}"
            )));
        }
        let came = came.clone();
        tokio::spawn(async move {
            while client.event().await.is_ok() {
                let _ = came.send((number, at, now_ns()));
            }
        });
    }
    Ok(())
}

/// Memory and latency.
pub fn measure(dir: &Path, table: &Table, quick: bool) -> io::Result<()> {
    let (count, changes) = if quick { (100, 10) } else { (1_000, 200) };
    let mut served = Served::begin(dir)?;
    let (mut seen, mut memory) = (Vec::new(), [0.0; 3]);
    runtime()?.block_on(async {
        let (came, mut coming) = mpsc::unbounded_channel();
        // Whatever is made on first use is made now.
        open(&served, 0..SESSIONS, &came).await?;
        for session in 0..SESSIONS {
            served.change(session)?;
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
        memory[0] = served.resident_kib()?;
        open(&served, SESSIONS..SESSIONS + count, &came).await?;
        memory[1] = served.resident_kib()?;
        let each = count / SESSIONS + 1;
        for change in 0..changes {
            // What still comes of the change before is not waited for any more.
            tokio::time::sleep(Duration::from_millis(20)).await;
            while coming.try_recv().is_ok() {}
            let session = change % SESSIONS;
            let committed = served.change(session)?;
            // Of the events of one commit, the first that each stream brings.
            let mut streams = HashSet::new();
            while streams.len() < each {
                let next = tokio::time::timeout(PATIENCE, coming.recv()).await;
                let Ok(Some((stream, of, at))) = next else {
                    return Err(io::Error::other("an event did not come"));
                };
                if of == session && streams.insert(stream) {
                    seen.push(Duration::from_nanos(at.saturating_sub(committed)));
                }
            }
        }
        memory[2] = served.resident_kib()?;
        Ok::<_, io::Error>(())
    })?;
    table.part(&format!(
        "{count} open streams on one server, {} of each Session",
        count / SESSIONS
    ));
    let each = |kib: f64| (kib - memory[0]) / count as f64;
    let before = format!("{} MiB without them", number(memory[0] / 1024.0));
    table.row(
        "memory of a stream, silent",
        each(memory[1]),
        "KiB",
        &before,
        Budget::AtMost(64.0),
    );
    table.row(
        "memory of a stream, after events",
        each(memory[2]),
        "KiB",
        "",
        Budget::AtMost(64.0),
    );
    let events = format!("{} events", seen.len());
    for percent in [50.0, 99.0] {
        let value = micros(percentile(&seen, percent)) / 1e3;
        table.row(
            &format!("from commit to the client, p{percent}"),
            value,
            "ms",
            &events,
            Budget::None,
        );
    }
    Ok(())
}
