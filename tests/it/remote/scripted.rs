//! A server whose every answer a test decides. It speaks just enough HTTP, one request a connection.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};

/// What was asked.
#[derive(Clone, Debug)]
pub struct Asked {
    pub method: String,
    /// With its query.
    pub path: String,
    /// In lower case, one a line.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Asked {
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    /// Method and path, without the query.
    pub fn route(&self) -> String {
        let path = self.path.split('?').next().unwrap_or_default();
        format!("{} {path}", self.method)
    }
}

/// How it is answered.
pub enum Answer {
    /// In order.
    Whole(u16, Vec<(&'static str, String)>, Vec<u8>),
    /// Not at all: the connection ends.
    Nothing,
    /// The head of an answer, and then these bytes for ever.
    Endless(&'static str, Vec<u8>),
    /// These blocks of a stream, and the connection breaks (or ends in order).
    Stream(Vec<String>, bool),
}

/// JSON in good order.
pub fn good(value: &Value) -> Answer {
    Answer::Whole(200, json_type(), value.to_string().into_bytes())
}

/// A refusal in the envelope of the API.
pub fn refused(status: u16, message: &str, param: Option<&str>) -> Answer {
    let code = match status {
        503 => "service_unavailable_error",
        _ => "some_error",
    };
    let body = json!({"error": {"message": message, "type": code, "code": code, "param": param}});
    Answer::Whole(status, json_type(), body.to_string().into_bytes())
}

fn json_type() -> Vec<(&'static str, String)> {
    vec![("content-type", "application/json".to_owned())]
}

impl Answer {
    /// With one more header.
    pub fn with(self, name: &'static str, value: &str) -> Answer {
        match self {
            Answer::Whole(status, mut headers, body) => {
                headers.push((name, value.to_owned()));
                Answer::Whole(status, headers, body)
            }
            other => other,
        }
    }
}

/// A server for as long as the test lasts.
pub struct Scripted {
    /// `http://127.0.0.1:<port>/v1`
    pub base: String,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl Scripted {
    /// Answers every request as `answer` says; it is told how many came before.
    pub fn begin(answer: impl Fn(&Asked, usize) -> Answer + Send + Sync + 'static) -> Scripted {
        let listener = TcpListener::bind("127.0.0.1:0").expect("is free");
        let base = format!("http://{}/v1", listener.local_addr().expect("is bound"));
        let asked: Arc<Mutex<Vec<Asked>>> = Arc::default();
        let (log, answer) = (Arc::clone(&asked), Arc::new(answer));
        // It ends with the process, like every thread that only waits.
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (log, answer) = (Arc::clone(&log), Arc::clone(&answer));
                std::thread::spawn(move || {
                    let Some(asked) = read(&stream) else { return };
                    let number = {
                        let mut log = log.lock().expect("is whole");
                        log.push(asked.clone());
                        log.len() - 1
                    };
                    // A client may leave in the middle.
                    let _ = write(&stream, answer(&asked, number));
                });
            }
        });
        Scripted { base, asked }
    }

    /// Everything that was asked.
    pub fn asked(&self) -> Vec<Asked> {
        self.asked.lock().expect("is whole").clone()
    }

    /// How often this was asked, such as `POST /v1/agents`.
    pub fn count(&self, route: &str) -> usize {
        let asked = self.asked();
        asked.iter().filter(|asked| asked.route() == route).count()
    }
}

fn read(stream: &TcpStream) -> Option<Asked> {
    stream
        .set_read_timeout(Some(Duration::from_secs(60)))
        .ok()?;
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let mut words = line.split_whitespace();
    let (method, path) = (words.next()?.to_owned(), words.next()?.to_owned());
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(':') else {
            break;
        };
        headers.push((name.to_lowercase(), value.trim().to_owned()));
    }
    let mut asked = Asked {
        method,
        path,
        headers,
        body: Vec::new(),
    };
    let bytes = asked.header("content-length").unwrap_or("0").parse().ok()?;
    asked.body = vec![0; bytes];
    reader.read_exact(&mut asked.body).ok()?;
    Some(asked)
}

fn write(mut stream: &TcpStream, answer: Answer) -> std::io::Result<()> {
    match answer {
        Answer::Nothing => Ok(()),
        Answer::Whole(status, headers, body) => {
            let mut head = format!("HTTP/1.1 {status} Said\r\nconnection: close\r\n");
            for (name, value) in headers {
                head.push_str(&format!("{name}: {value}\r\n"));
            }
            head.push_str(&format!("content-length: {}\r\n\r\n", body.len()));
            stream.write_all(head.as_bytes())?;
            stream.write_all(&body)
        }
        Answer::Endless(kind, bytes) => {
            let head =
                format!("HTTP/1.1 200 Said\r\nconnection: close\r\ncontent-type: {kind}\r\n\r\n");
            stream.write_all(head.as_bytes())?;
            loop {
                stream.write_all(&bytes)?;
            }
        }
        Answer::Stream(blocks, in_order) => {
            let head = "HTTP/1.1 200 Said\r\nconnection: close\r\ntransfer-encoding: chunked\r\ncontent-type: text/event-stream\r\n\r\n";
            stream.write_all(head.as_bytes())?;
            for block in blocks {
                stream.write_all(format!("{:x}\r\n{block}\r\n", block.len()).as_bytes())?;
            }
            if in_order {
                stream.write_all(b"0\r\n\r\n")?;
            }
            Ok(())
        }
    }
}

/// The id of the one Session here.
pub const SESSION: &str = "sess_aaaaaaaaaaaaaaaaaaaaaaaaaa";

/// A Session in this state.
pub fn session(status: &str) -> Value {
    json!({
        "id": SESSION,
        "agent": {"id": "agent_x", "instructions": null, "model": "m",
            "multi_agent": {"enabled": false, "max_concurrent_subagents": null}, "name": null,
            "reasoning": {"effort": null, "summary": null}, "service_tier": "auto",
            "text": {"format": {"type": "text"}, "verbosity": "medium"}, "tools": []},
        "created_at": 1, "environment": {"type": "none"}, "error": null, "last_active_at": 2,
        "metadata": {}, "object": "agent.session", "required_actions": [], "status": status,
        "usage": null, "vault_ids": []
    })
}

/// A saved Agent.
pub fn agent() -> Value {
    json!({
        "id": "agent_aaaaaaaaaaaaaaaaaaaaaaaaaa", "created_at": 1, "instructions": null, "metadata": {},
        "model": "m", "multi_agent": {"enabled": false, "max_concurrent_subagents": null},
        "name": null, "object": "agent", "reasoning": {"effort": null, "summary": null},
        "service_tier": "auto", "text": {"format": {"type": "text"}, "verbosity": "medium"},
        "tools": [], "updated_at": 1
    })
}

/// A Turn in this state.
pub fn turn(id: &str, status: &str) -> Value {
    json!({
        "id": id, "agent_id": "agent_x", "completed_at": null, "created_at": 1, "error": null,
        "object": "agent.session.turn", "session_id": SESSION, "started_at": 1, "status": status,
        "subagent_id": null, "usage": null
    })
}

/// A message of the agent.
pub fn message(id: &str, turn: &str, text: &str) -> Value {
    json!({
        "type": "message", "id": id, "content": [{"type": "output_text", "text": text}],
        "phase": null, "role": "assistant", "status": "completed", "turn_id": turn
    })
}

/// A list that is over.
pub fn list(data: &[Value]) -> Value {
    json!({"object": "list", "data": data, "has_more": false})
}

/// A block of a stream.
pub fn block(event: &Value) -> String {
    format!("data: {event}\n\n")
}
