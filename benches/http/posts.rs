//! Messages that are posted over connections that are kept, in turns with the same messages through the engine in process.

use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, Instant};

use rat_things::engine::ids::SessionId;
use rat_things::server::{Access, Server};
use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::client::Client;
use crate::floor::{median, percentile};
use crate::setting::{micros, runtime};
use crate::table::{Budget, Table, number};
use crate::world::World;

/// Clients at once, with a connection each.
const CLIENTS: usize = 64;

/// Where a Session takes its input.
pub fn inputs(session: &SessionId) -> String {
    format!("/v1/agents/sessions/{session}/events")
}

/// A message of a thousand bytes, and the request that brings it.
fn message() -> (String, String) {
    let text: String =
        "Please look at the log of last night and say what went wrong there, and why. "
            .chars()
            .cycle()
            .take(1000)
            .collect();
    let body = format!(
        r#"{{"events":[{{"type":"agent.session.input.message","input":[{{"type":"message","role":"user","content":[{{"type":"input_text","text":"{text}"}}]}}]}}]}}"#
    );
    (text, body)
}

/// What a round of one kind took: messages a second, and each of them.
type Part = (f64, Vec<Duration>);

async fn in_process(world: &World, sessions: &[SessionId]) -> io::Result<Part> {
    let begun = Instant::now();
    let tasks = (0..CLIENTS).map(|client| {
        let world = world.clone();
        let mine: Vec<_> = sessions
            .iter()
            .skip(client)
            .step_by(CLIENTS)
            .cloned()
            .collect();
        let (text, _) = message();
        tokio::spawn(async move {
            let mut seen = Vec::with_capacity(mine.len());
            for session in &mine {
                seen.push(world.send(session, &text).await?);
            }
            Ok(seen)
        })
    });
    finished(begun, tasks.collect()).await
}

async fn over_http(clients: Vec<Client>, sessions: &[SessionId]) -> io::Result<Part> {
    let begun = Instant::now();
    let tasks = clients.into_iter().enumerate().map(|(client, mut http)| {
        let mine: Vec<_> = sessions
            .iter()
            .skip(client)
            .step_by(CLIENTS)
            .map(inputs)
            .collect();
        let (_, body) = message();
        tokio::spawn(async move {
            let mut seen = Vec::with_capacity(mine.len());
            for path in &mine {
                let begun = Instant::now();
                let status = http.post(path, &body).await?;
                if status != 202 {
                    return Err(io::Error::other(format!("{path} answered {status}")));
                }
                seen.push(begun.elapsed());
            }
            Ok(seen)
        })
    });
    finished(begun, tasks.collect()).await
}

async fn finished(
    begun: Instant,
    tasks: Vec<tokio::task::JoinHandle<io::Result<Vec<Duration>>>>,
) -> io::Result<Part> {
    let mut seen = Vec::new();
    for task in tasks {
        seen.extend(task.await.map_err(io::Error::other)??);
    }
    Ok((seen.len() as f64 / begun.elapsed().as_secs_f64(), seen))
}

/// Serves this world at a free port of this machine until the answer is dropped.
pub async fn serve(world: &World) -> io::Result<(SocketAddr, watch::Sender<bool>)> {
    let (stop, stopped) = watch::channel(false);
    let access = Access::Open {
        owner: world.owner.to_string(),
    };
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let server = Server::new(world.watcher.clone(), access, stopped);
    tokio::spawn(server.serve(listener));
    Ok((address, stop))
}

/// Both in turns.
pub fn measure(dir: &Path, table: &Table, quick: bool) -> io::Result<()> {
    let (rounds, each) = if quick { (1, 4) } else { (5, 40) };
    let (mut inside, mut outside) = (Vec::new(), Vec::new());
    runtime()?.block_on(async {
        let world = World::open(dir).await?;
        let (address, _stop) = serve(&world).await?;
        for _ in 0..rounds {
            let sessions = world.sessions(CLIENTS * each).await?;
            inside.push(in_process(&world, &sessions).await?);
            let mut clients = Vec::new();
            for _ in 0..CLIENTS {
                clients.push(Client::connect(address).await?);
            }
            let sessions = world.sessions(CLIENTS * each).await?;
            outside.push(over_http(clients, &sessions).await?);
        }
        Ok::<_, io::Error>(())
    })?;
    table.part(&format!(
        "a message of 1,000 bytes, {CLIENTS} clients, each message to another Session"
    ));
    let rate = |parts: &[Part]| median(parts.iter().map(|part| part.0));
    let at = |parts: &[Part], percent| {
        median(
            parts
                .iter()
                .map(|part| micros(percentile(&part.1, percent))),
        )
    };
    let tails = |parts: &[Part]| {
        format!(
            "p50 {} µs, p99 {} µs",
            number(at(parts, 50.0)),
            number(at(parts, 99.0))
        )
    };
    table.row(
        "in process",
        rate(&inside),
        "/s",
        &tails(&inside),
        Budget::None,
    );
    table.row(
        "over HTTP, connections kept",
        rate(&outside),
        "/s",
        &tails(&outside),
        Budget::None,
    );
    let ratio = median(
        inside
            .iter()
            .zip(&outside)
            .map(|(inside, outside)| outside.0 / inside.0),
    );
    table.row(
        "  of the rate in process",
        ratio,
        "×",
        "",
        Budget::AtLeast(0.6),
    );
    Ok(())
}
