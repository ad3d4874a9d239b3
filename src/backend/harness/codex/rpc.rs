//! JSON-RPC with the app-server: one message a line, in both directions, at any time.

use std::collections::VecDeque;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;
use tokio::time::timeout;

/// A longer line is not read to its end: whoever sends it has gone mad.
pub const LINE_LIMIT_BYTES: usize = 8 << 20;

/// How long the app-server may take to answer.
const PATIENCE: Duration = Duration::from_secs(60);

/// How long it may take to read what is written to it.
const WRITE_PATIENCE: Duration = Duration::from_secs(30);

/// What came in.
#[derive(Clone, Debug, PartialEq)]
pub enum Incoming {
    /// The answer to a request of ours.
    Reply {
        /// The request.
        id: u64,
        /// Its result, or the other side's error.
        result: Result<Value, Refusal>,
    },
    /// A request that we must answer.
    Request {
        /// To be repeated in the answer.
        id: Value,
        /// What is asked.
        method: String,
        /// Of what.
        params: Value,
    },
    /// Something that happened.
    Notice {
        /// What.
        method: String,
        /// Of what.
        params: Value,
    },
}

/// The other side's error.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Refusal {
    /// In its words.
    pub message: String,
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RpcError {
    /// The process is gone, or does not read or write any more. Whether the request had an effect is not known.
    #[error("the app-server is gone: {0}")]
    Gone(&'static str),
    /// It answered with an error: the request had no effect.
    #[error("the app-server refused {method}: {refusal}")]
    Refused {
        /// What was asked.
        method: &'static str,
        /// Its words.
        refusal: Refusal,
    },
}

/// Reads a line as a message. What is no message is nothing: the other side may have written a warning.
pub fn parse(line: &[u8]) -> Option<Incoming> {
    let mut message: Value = serde_json::from_slice(line).ok()?;
    let fields = message.as_object_mut()?;
    let params = fields.remove("params").unwrap_or_default();
    match (fields.remove("method"), fields.remove("id")) {
        (Some(Value::String(method)), Some(id)) => Some(Incoming::Request { id, method, params }),
        (Some(Value::String(method)), None) => Some(Incoming::Notice { method, params }),
        (None, Some(id)) => {
            let result = match (fields.remove("result"), fields.remove("error")) {
                (Some(result), _) => Ok(result),
                (None, error) => Err(Refusal {
                    message: words(&error.unwrap_or_default()),
                }),
            };
            Some(Incoming::Reply {
                id: id.as_u64()?,
                result,
            })
        }
        _ => None,
    }
}

/// An error's words, with the field that programs read if there is one.
fn words(error: &Value) -> String {
    let message = error["message"].as_str().unwrap_or("no reason given");
    match error["data"]["type"].as_str() {
        Some(kind) => format!("{message} ({kind})"),
        None => message.to_owned(),
    }
}

/// Reads one line of at most [`LINE_LIMIT_BYTES`] into `line`; `false` at the end, and when a line is longer.
pub async fn read_line(
    from: &mut (impl AsyncBufRead + Unpin),
    line: &mut Vec<u8>,
    limit_bytes: usize,
) -> bool {
    line.clear();
    loop {
        let Ok(chunk) = from.fill_buf().await else {
            return false;
        };
        if chunk.is_empty() {
            return false;
        }
        let end = memchr::memchr(b'\n', chunk);
        let taken = end.unwrap_or(chunk.len());
        if line.len() + taken > limit_bytes {
            return false;
        }
        line.extend_from_slice(&chunk[..taken]);
        let used = end.map_or(taken, |end| end + 1);
        from.consume(used);
        if end.is_some() {
            return true;
        }
    }
}

/// Our side of the conversation.
pub struct Rpc {
    to: Box<dyn AsyncWrite + Send + Unpin>,
    from: mpsc::UnboundedReceiver<Incoming>,
    /// Came while an answer was awaited.
    backlog: VecDeque<Incoming>,
    last_id: u64,
}

impl Rpc {
    /// Over these streams. The reading task ends with the stream.
    ///
    /// What was read and not yet looked at is not bounded: a reader that stops would stop the app-server in the middle of its own work,
    /// and it says no more than it is made to.
    pub fn new(
        to: impl AsyncWrite + Send + Unpin + 'static,
        mut from: impl AsyncBufRead + Send + Unpin + 'static,
    ) -> Rpc {
        let (tell, incoming) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            let mut line = Vec::new();
            while read_line(&mut from, &mut line, LINE_LIMIT_BYTES).await {
                if let Some(message) = parse(&line)
                    && tell.send(message).is_err()
                {
                    return;
                }
            }
        });
        Rpc {
            to: Box::new(to),
            from: incoming,
            backlog: VecDeque::new(),
            last_id: 0,
        }
    }

    /// Asks and waits for the answer; everything else that comes meanwhile is kept for [`Rpc::next`].
    pub async fn ask(&mut self, method: &'static str, params: Value) -> Result<Value, RpcError> {
        self.last_id += 1;
        let asked = self.last_id;
        self.write(&json!({"id": asked, "method": method, "params": params}))
            .await?;
        let answered = timeout(PATIENCE, async {
            loop {
                match self.from.recv().await {
                    Some(Incoming::Reply { id, result }) if id == asked => return Some(result),
                    Some(Incoming::Reply { .. }) => {}
                    Some(other) => self.backlog.push_back(other),
                    None => return None,
                }
            }
        });
        match answered.await {
            Ok(Some(result)) => result.map_err(|refusal| RpcError::Refused { method, refusal }),
            Ok(None) => Err(RpcError::Gone("it closed its output")),
            Err(_) => Err(RpcError::Gone("it did not answer in time")),
        }
    }

    /// Says something that has no answer.
    pub async fn tell(&mut self, method: &'static str) -> Result<(), RpcError> {
        self.write(&json!({"method": method})).await
    }

    /// Answers a request.
    pub async fn answer(&mut self, id: Value, result: Result<Value, &str>) -> Result<(), RpcError> {
        let message = match result {
            Ok(result) => json!({"id": id, "result": result}),
            Err(message) => json!({"id": id, "error": {"code": -32600, "message": message}}),
        };
        self.write(&message).await
    }

    /// Says nothing any more: whoever reads it comes to the end.
    pub fn close(&mut self) {
        self.to = Box::new(tokio::io::sink());
    }

    /// What came next; `None` when nothing will come any more.
    pub async fn next(&mut self) -> Option<Incoming> {
        match self.backlog.pop_front() {
            Some(message) => Some(message),
            None => self.from.recv().await,
        }
    }

    async fn write(&mut self, message: &Value) -> Result<(), RpcError> {
        let mut line = message.to_string();
        line.push('\n');
        match timeout(WRITE_PATIENCE, self.to.write_all(line.as_bytes())).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) => Err(RpcError::Gone("it closed its input")),
            Err(_) => Err(RpcError::Gone("it does not read its input")),
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{BufReader, DuplexStream, duplex};

    use super::*;

    #[test]
    fn every_kind_of_message_is_told_from_the_others() {
        let reply = parse(br#"{"id":3,"result":{"a":1}}"#);
        assert_eq!(
            reply,
            Some(Incoming::Reply {
                id: 3,
                result: Ok(json!({"a": 1}))
            })
        );
        let refused =
            parse(br#"{"id":4,"error":{"code":-32600,"message":"no","data":{"type":"t"}}}"#);
        assert_eq!(
            refused,
            Some(Incoming::Reply {
                id: 4,
                result: Err(Refusal {
                    message: "no (t)".into()
                })
            })
        );
        let request = parse(br#"{"id":"x","method":"m","params":[]}"#);
        assert!(matches!(request, Some(Incoming::Request { .. })));
        let notice = parse(br#"{"method":"m"}"#);
        assert!(matches!(
            notice,
            Some(Incoming::Notice {
                params: Value::Null,
                ..
            })
        ));
        for junk in ["", "warning: x", "[1]", "{}", r#"{"id":-1,"result":1}"#] {
            assert_eq!(parse(junk.as_bytes()), None, "{junk}");
        }
    }

    #[tokio::test]
    async fn a_line_over_the_limit_ends_the_reading() {
        let mut from = &b"short\nmuch too long\nshort\n"[..];
        let mut line = Vec::new();
        assert!(read_line(&mut from, &mut line, 8).await);
        assert_eq!(line, b"short");
        assert!(!read_line(&mut from, &mut line, 8).await);
    }

    /// A conversation, and the other side of it: what is said to it, and what it says.
    fn talking() -> (Rpc, DuplexStream, DuplexStream) {
        let ((to, heard), (from, say)) = (duplex(1 << 10), duplex(1 << 10));
        (Rpc::new(to, BufReader::new(from)), heard, say)
    }

    #[tokio::test]
    async fn an_answer_is_found_among_answers_to_others_and_news_are_kept_in_order() {
        let (mut rpc, _heard, mut say) = talking();
        let lines = concat!(
            "{\"method\":\"first\"}\n",
            "{\"id\":7,\"result\":\"of nobody\"}\n",
            "{\"id\":0,\"method\":\"second\"}\n",
            "{\"id\":1,\"result\":\"ours\"}\n",
        );
        say.write_all(lines.as_bytes()).await.expect("it is read");
        let answered = rpc.ask("what", json!({})).await;
        assert_eq!(answered, Ok(json!("ours")));
        let first = rpc.next().await;
        assert!(matches!(first, Some(Incoming::Notice { method, .. }) if method == "first"));
        let second = rpc.next().await;
        assert!(matches!(second, Some(Incoming::Request { method, .. }) if method == "second"));
        drop(say);
        assert_eq!(rpc.next().await, None);
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_does_not_answer_or_does_not_read_is_given_up() {
        let (mut rpc, _heard, _say) = talking();
        let silent = rpc.ask("what", json!({})).await;
        assert_eq!(silent, Err(RpcError::Gone("it did not answer in time")));
        let deaf = rpc.ask("what", json!({"long": "x".repeat(4 << 10)})).await;
        assert_eq!(deaf, Err(RpcError::Gone("it does not read its input")));
    }

    #[tokio::test]
    async fn whoever_is_not_spoken_to_any_more_comes_to_the_end() {
        let (mut rpc, mut heard, _say) = talking();
        rpc.tell("hello").await.expect("it is read");
        rpc.close();
        let mut all = String::new();
        let read = tokio::io::AsyncReadExt::read_to_string(&mut heard, &mut all).await;
        assert_eq!(
            (read.ok(), all.as_str()),
            (Some(19), "{\"method\":\"hello\"}\n")
        );
    }
}
