//! A model provider on loopback: answers each connection's one request with prepared bytes.

use std::sync::{Arc, Mutex};

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// One answer.
#[derive(Clone)]
pub struct Answer {
    /// Written one after another, each in a packet of its own.
    pub chunks: Vec<Vec<u8>>,
    /// What comes after them.
    pub then: Then,
}

/// How an answer ends.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Then {
    /// The connection is closed in order.
    Close,
    /// The connection stays open and nothing comes any more.
    Silence,
}

impl Answer {
    /// These bytes after a good status line.
    pub fn stream(body: &str) -> Answer {
        Answer::typed("200 OK", "text/event-stream", &[], body)
    }

    /// A failure.
    pub fn fails(status: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        Answer::typed(status, "application/json", headers, body)
    }

    pub fn typed(status: &str, kind: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        let headers: String = headers
            .iter()
            .map(|(name, value)| format!("{name}: {value}\r\n"))
            .collect();
        // No length: the body ends where the connection does, so a cut can be told from an end by the events alone.
        let head = format!(
            "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\nconnection: close\r\n{headers}\r\n"
        );
        Answer {
            chunks: vec![head.into_bytes(), body.as_bytes().to_vec()],
            then: Then::Close,
        }
    }

    /// The body in pieces of `size` bytes.
    pub fn in_pieces(mut self, size: usize) -> Answer {
        let body = self.chunks.split_off(1).concat();
        self.chunks.extend(body.chunks(size).map(<[u8]>::to_vec));
        self
    }

    pub fn then(mut self, then: Then) -> Answer {
        self.then = then;
        self
    }
}

/// A request as it came.
#[derive(Clone, Debug)]
pub struct Request {
    pub head: String,
    pub body: Value,
}

impl Request {
    /// A header's value.
    pub fn header(&self, name: &str) -> Option<String> {
        self.head.lines().find_map(|line| {
            let (found, value) = line.split_once(':')?;
            found
                .eq_ignore_ascii_case(name)
                .then(|| value.trim().to_owned())
        })
    }
}

/// The server; it ends when this is dropped.
pub struct Server {
    pub base_url: String,
    pub requests: Arc<Mutex<Vec<Request>>>,
    /// Clients that went away while there was silence.
    pub gone: watch::Receiver<usize>,
    accepting: JoinHandle<()>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

impl Server {
    /// Answers the n-th connection with the n-th answer; the last one answers all that follow.
    pub async fn start(answers: Vec<Answer>) -> Server {
        let listener = TcpListener::bind(("127.0.0.1", 0))
            .await
            .expect("loopback is there");
        let address = listener.local_addr().expect("it is bound");
        let requests = Arc::new(Mutex::new(Vec::new()));
        let record = requests.clone();
        let (leave, gone) = watch::channel(0);
        let accepting = tokio::spawn(async move {
            let mut connections = Vec::new();
            let mut n = 0;
            while let Ok((stream, _)) = listener.accept().await {
                let answer = answers[n.min(answers.len() - 1)].clone();
                n += 1;
                connections.push(tokio::spawn(serve(
                    stream,
                    answer,
                    record.clone(),
                    leave.clone(),
                )));
            }
        });
        Server {
            base_url: format!("http://{address}/v1"),
            requests,
            gone,
            accepting,
        }
    }

    pub fn requests(&self) -> Vec<Request> {
        self.requests
            .lock()
            .expect("no test panics while it holds this")
            .clone()
    }
}

async fn serve(
    mut stream: TcpStream,
    answer: Answer,
    record: Arc<Mutex<Vec<Request>>>,
    leave: watch::Sender<usize>,
) {
    stream.set_nodelay(true).expect("loopback has this");
    let Some(request) = read(&mut stream).await else {
        return;
    };
    record
        .lock()
        .expect("no test panics while it holds this")
        .push(request);
    for chunk in answer.chunks {
        if stream.write_all(&chunk).await.is_err() || stream.flush().await.is_err() {
            return;
        }
        // Lets the client read what there is, so that pieces arrive as pieces.
        tokio::task::yield_now().await;
    }
    if answer.then == Then::Silence {
        // Until the client goes away.
        let mut byte = [0];
        while matches!(stream.read(&mut byte).await, Ok(1)) {}
        leave.send_modify(|gone| *gone += 1);
    }
}

async fn read(stream: &mut TcpStream) -> Option<Request> {
    let mut bytes = Vec::new();
    let mut buffer = [0; 4_096];
    loop {
        let end = bytes.windows(4).position(|four| four == b"\r\n\r\n");
        if let Some(end) = end {
            let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
            let request = Request {
                head,
                body: Value::Null,
            };
            let length: usize = request.header("content-length")?.parse().ok()?;
            if bytes.len() >= end + 4 + length {
                let body = serde_json::from_slice(&bytes[end + 4..end + 4 + length]).ok()?;
                return Some(Request { body, ..request });
            }
        }
        match stream.read(&mut buffer).await {
            Ok(0) | Err(_) => return None,
            Ok(n) => bytes.extend_from_slice(&buffer[..n]),
        }
    }
}
