//! A real daemon that serves a loopback address, and a client of it.

use std::process::{Child, Stdio};
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use reqwest::{Method, RequestBuilder, Response, StatusCode};
use serde_json::{Value, json};

use rat_things::backend::local::bell::LocalBell;
use rat_things::backend::local::blobs::LocalBlobs;
use rat_things::backend::local::clock::SystemClock;
use rat_things::backend::local::ids::SystemIds;
use rat_things::backend::local::secrets::LocalSecrets;
use rat_things::backend::local::store::{SqliteStore, StoreOptions};
use rat_things::engine::core::{Core, Settings};

use super::order::Order;
use crate::cli::env::{PATIENCE, TestEnv};

/// Waits for the next one. Lists are in the order of times, and in any order within a millisecond, in which several things can be made.
pub async fn another_millisecond() {
    let now_ms = || UNIX_EPOCH.elapsed().map_or(0, |time| time.as_millis());
    let before_ms = now_ms();
    while now_ms() == before_ms {
        tokio::task::yield_now().await;
    }
}

/// See the module.
pub struct Api {
    pub env: TestEnv,
    /// `http://127.0.0.1:<port>/v1`
    pub base: String,
    /// The access key of the local user.
    pub key: String,
    http: reqwest::Client,
    daemon: Child,
}

impl Drop for Api {
    fn drop(&mut self) {
        // It may have been stopped already, or may not stop; then it is ended.
        let _ = self.env.command(["daemon", "stop"]).output();
        let _ = self.daemon.kill();
        let _ = self.daemon.wait();
    }
}

impl Api {
    /// A daemon that wants keys, and one key.
    pub fn new() -> Api {
        Api::with(TestEnv::new(), &[])
    }

    /// The same on this machine, with more options of `daemon run`.
    pub fn with(env: TestEnv, options: &[&str]) -> Api {
        // Tests that look again and again are not what the limit is for.
        let key = env.json("keys create --name test --rate 1000000")["key"].clone();
        let (daemon, base) = serve(&env, options);
        // Needed once a process, whoever comes first.
        let _ = rustls::crypto::ring::default_provider().install_default();
        Api {
            env,
            base,
            key: key.as_str().expect("a key").to_owned(),
            http: reqwest::Client::builder()
                .no_proxy()
                .build()
                .expect("builds"),
            daemon,
        }
    }

    /// Stops the daemon and starts another one, somewhere else.
    pub fn restart(&mut self) {
        self.env.ok("daemon stop");
        self.daemon.wait().expect("it ends");
        (self.daemon, self.base) = serve(&self.env, &[]);
    }

    /// The pid of the daemon.
    pub fn pid(&self) -> u32 {
        self.daemon.id()
    }

    /// Asks with this client from now on.
    pub fn trust(&mut self, http: reqwest::Client) {
        self.http = http;
    }

    /// The engine over the daemon's own data, for what no command does.
    pub fn core(&self) -> Core {
        let at = |below: &str| self.env.data().join(below);
        Core {
            store: Arc::new(
                SqliteStore::open(&at("store.db"), StoreOptions::default()).expect("opens"),
            ),
            blobs: Arc::new(LocalBlobs::new(at("blobs"))),
            secrets: Arc::new(LocalSecrets::new(at("secrets"))),
            clock: Arc::new(SystemClock),
            ids: Arc::new(SystemIds),
            bell: Arc::new(LocalBell::new(at("run"))),
            settings: Settings::default(),
        }
    }

    /// A request without anything but its method and path (which begins with `/`).
    pub fn bare(&self, method: &str, path: &str) -> RequestBuilder {
        self.at(method, &format!("{}{path}", self.base))
    }

    /// The same for a whole URL.
    pub fn at(&self, method: &str, url: &str) -> RequestBuilder {
        let method = Method::from_bytes(method.as_bytes()).expect("a method");
        self.http.request(method, url)
    }

    /// A request as an SDK sends it, with this key.
    pub fn with_key(&self, key: &str, method: &str, path: &str) -> RequestBuilder {
        self.bare(method, path)
            .header("authorization", format!("Bearer {key}"))
            .header("openai-beta", "agents=v1")
    }

    /// A request as an SDK sends it.
    pub fn request(&self, method: &str, path: &str) -> RequestBuilder {
        self.with_key(&self.key, method, path)
    }

    /// What a GET answers, which must be good.
    pub async fn get(&self, path: &str) -> Value {
        read(self.request("GET", path).send().await.expect("answers")).await
    }

    /// What a POST answers, which must be good. No two make things in the same millisecond.
    pub async fn post(&self, path: &str, body: &Value) -> Value {
        another_millisecond().await;
        let sent = self.request("POST", path).json(body).send().await;
        read(sent.expect("answers")).await
    }

    /// A Session without an environment whose first Turn does this and is over; its id.
    pub async fn session(&self, input: &str) -> String {
        let mut stream = self.create(&session_of("none", input)).await;
        let created = stream.next().await.expect("it is created");
        while stream.next().await.is_some() {}
        let id = created["session"]["id"].as_str().expect("an id");
        id.to_owned()
    }

    /// Creates a Session and streams its first Turn.
    pub async fn create(&self, body: &Value) -> Events {
        let mut body = body.clone();
        body["stream"] = true.into();
        let sent = self.request("POST", "/agents/sessions").json(&body).send();
        Events::from_response(sent.await.expect("answers"))
    }

    /// Opens a Session's stream; `rest` begins with `?` or is empty.
    pub async fn stream(&self, session: &str, rest: &str) -> Events {
        let path = format!("/agents/sessions/{session}/events{rest}");
        let sent = self.request("GET", &path).send().await;
        Events::from_response(sent.expect("answers"))
    }

    /// Sends a message.
    pub async fn send(&self, session: &str, text: &str) -> Response {
        let path = format!("/agents/sessions/{session}/events");
        let sent = self
            .request("POST", &path)
            .json(&message(text))
            .send()
            .await;
        let response = sent.expect("answers");
        assert_eq!(response.status(), StatusCode::ACCEPTED);
        response
    }
}

/// A daemon that serves, and where.
fn serve(env: &TestEnv, options: &[&str]) -> (Child, String) {
    let log = std::fs::File::create(env.path("daemon.log")).expect("makes");
    let words = ["daemon", "run", "--listen", "127.0.0.1:0"];
    let daemon = env
        .command(words.iter().chain(options))
        .stdout(Stdio::null())
        .stderr(log)
        .spawn()
        .expect("starts");
    let mut base = None;
    env.until("the daemon serves", || {
        base = env.json("daemon status")["listen"]
            .as_str()
            .map(str::to_owned);
        base.is_some()
    });
    (daemon, base.expect("was waited for"))
}

/// A request to create a Session.
pub fn session_of(environment: &str, input: &str) -> Value {
    json!({"agent": {"model": "demo"}, "environment": {"type": environment}, "input": input})
}

/// A batch of one message.
pub fn message(text: &str) -> Value {
    let content = json!([{"type": "input_text", "text": text}]);
    let input = json!([{"type": "message", "role": "user", "content": content}]);
    json!({"events": [{"type": "agent.session.input.message", "input": input}]})
}

/// The JSON of a good answer.
pub async fn read(response: Response) -> Value {
    let (status, url) = (response.status(), response.url().clone());
    let text = response.text().await.expect("a body");
    assert_eq!(status, StatusCode::OK, "{url}: {text}");
    serde_json::from_str(&text).expect("JSON")
}

/// The status of a refusal and what stands under `error`.
pub async fn refusal(request: RequestBuilder) -> (u16, Value) {
    let response = request.send().await.expect("answers");
    let status = response.status().as_u16();
    let body: Value = response.json().await.expect("the envelope");
    let keys: Vec<&String> = body["error"]
        .as_object()
        .expect("an error")
        .keys()
        .collect();
    assert_eq!(keys, ["message", "type", "code", "param"], "{body}");
    (status, body["error"].clone())
}

/// Events of a stream as they come.
pub struct Events {
    response: Response,
    buffer: Vec<u8>,
    /// Up to here there is no end of a block.
    searched: usize,
    order: Order,
    /// Comments that came: signs of life.
    pub comments: usize,
}

impl Events {
    /// Of an answer that must be a stream.
    pub fn from_response(response: Response) -> Events {
        assert_eq!(response.status(), StatusCode::OK);
        let kind = &response.headers()["content-type"];
        assert_eq!(kind, "text/event-stream; charset=utf-8");
        Events {
            response,
            buffer: Vec::new(),
            searched: 0,
            order: Order::default(),
            comments: 0,
        }
    }

    /// The same for a stream that tells of a worker that is lost.
    pub fn with_losses(mut self) -> Events {
        self.order = Order::with_losses();
        self
    }

    /// The next event; `None` at the end of the stream.
    pub async fn next(&mut self) -> Option<Value> {
        tokio::time::timeout(PATIENCE, self.read())
            .await
            .expect("something happens")
    }

    /// Whether nothing comes for a while.
    pub async fn is_silent(&mut self) -> bool {
        let while_ms = Duration::from_millis(300);
        tokio::time::timeout(while_ms, self.read()).await.is_err()
    }

    /// Everything up to an event of this kind, and that event.
    pub async fn until(&mut self, kind: &str) -> Vec<Value> {
        let mut events = Vec::new();
        loop {
            let event = self.next().await.expect("the stream goes on");
            let is_it = event["type"] == kind;
            events.push(event);
            if is_it {
                return events;
            }
        }
    }

    /// Everything up to the end of the stream.
    pub async fn all(&mut self) -> Vec<Value> {
        let mut events = Vec::new();
        while let Some(event) = self.next().await {
            events.push(event);
        }
        events
    }

    async fn read(&mut self) -> Option<Value> {
        loop {
            let end = |buffer: &[u8]| buffer.windows(2).position(|two| two == b"\n\n");
            while let Some(end) = end(&self.buffer[self.searched..]) {
                let end = std::mem::take(&mut self.searched) + end + 2;
                let block: Vec<u8> = self.buffer.drain(..end).collect();
                let block = String::from_utf8(block).expect("UTF-8");
                match event_of(&block) {
                    Some(event) => {
                        self.order.take(&event);
                        return Some(event);
                    }
                    None => self.comments += 1,
                }
            }
            let chunk = self.response.chunk().await.expect("no broken stream")?;
            self.searched = self.buffer.len().saturating_sub(1);
            self.buffer.extend_from_slice(&chunk);
        }
    }
}

/// The event of a block; a comment is none. Every other block is a type and its data, and nothing else.
fn event_of(block: &str) -> Option<Value> {
    if block.starts_with(':') {
        return None;
    }
    let lines: Vec<&str> = block.trim_end().lines().collect();
    let [kind, data] = lines[..] else {
        panic!("not two lines: {block:?}");
    };
    let data = data.strip_prefix("data: ").expect("data");
    let event: Value = serde_json::from_str(data).expect("JSON");
    assert_eq!(kind.strip_prefix("event: "), event["type"].as_str());
    Some(event)
}

/// The types of events.
pub fn kinds(events: &[Value]) -> Vec<&str> {
    let kinds = events.iter().map(|event| event["type"].as_str());
    kinds.map(|kind| kind.expect("a type")).collect()
}

/// Events that are in the journal: not those that tell text as it is written.
pub fn lasting(events: &[Value]) -> Vec<Value> {
    let delta = |event: &&Value| {
        event["type"]
            .as_str()
            .is_some_and(|k| k.ends_with(".delta"))
    };
    events
        .iter()
        .filter(|event| !delta(event))
        .cloned()
        .collect()
}

/// Their ids.
pub fn ids(events: &[Value]) -> Vec<String> {
    let ids = events.iter().map(|event| event["event_id"].as_str());
    ids.map(|id| id.expect("an id").to_owned()).collect()
}

/// What an event says, whatever its id is.
pub fn line(event: &Value) -> String {
    let of = |path: &str| event.pointer(path).and_then(Value::as_str).unwrap_or("-");
    let about = ["/turn_id", "/item_id", "/item/id", "/text"].map(of);
    format!("{} {}", event["type"], about.join(" "))
}
