//! A model provider on loopback for the real Codex: `POST {base_url}/responses`, streamed. A script says what it answers, and every request
//! is kept whole, so that a test can say what the model was given.
//!
//! It lives on a thread of its own, so that it serves a test with or without a runtime.

mod answer;
mod asked;
mod wire;

use std::collections::VecDeque;
use std::convert::Infallible;
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::request::Parts;
use axum::http::{Method, StatusCode};
use axum::response::Response;
use futures_util::stream;
use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::{oneshot, watch};

pub(crate) use self::answer::{Answer, Gate};
pub(crate) use self::asked::Asked;
use self::wire::Frame;

/// Long enough that only a hang reaches it.
const PATIENCE: Duration = Duration::from_secs(60);

/// So many of the newest requests are kept whole: all of a long conversation would not fit into memory, as each holds what came before.
const WHOLE: usize = 64;

type Script = Box<dyn FnMut(&Asked) -> Answer + Send>;

/// The provider; it ends when this is dropped.
pub(crate) struct Stub {
    /// What a client is configured with.
    pub(crate) base_url: String,
    asked: watch::Receiver<Vec<Asked>>,
    left: watch::Receiver<usize>,
    _stop: oneshot::Sender<Infallible>,
}

impl Stub {
    /// Gives the n-th request the n-th answer. One too many is refused in a way that no client repeats, and is kept like the others.
    pub(crate) async fn script(answers: impl IntoIterator<Item = Answer>) -> Stub {
        let mut answers: VecDeque<Answer> = answers.into_iter().collect();
        Stub::playing(move |asked| {
            answers.pop_front().unwrap_or_else(|| {
                let words = format!("nothing is scripted for request {}", asked.number);
                Answer::fails(400, "invalid_request_error", &words)
            })
        })
        .await
    }

    /// Decides on each answer by the request: what it says does not depend on how often it is asked, or by which process.
    pub(crate) async fn playing(script: impl FnMut(&Asked) -> Answer + Send + 'static) -> Stub {
        let (tell, asked) = watch::channel(Vec::new());
        let (leave, left) = watch::channel(0);
        let (stop, stopped) = oneshot::channel::<Infallible>();
        let (bound, address) = oneshot::channel();
        let state = Arc::new(Playing {
            script: Mutex::new(Box::new(script)),
            tell,
            left: leave,
        });
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .expect("a runtime can be made");
            runtime.block_on(async move {
                let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
                    .await
                    .expect("loopback is there");
                let address = listener.local_addr().expect("it is bound");
                let router = Router::new().fallback(serve).with_state(state);
                // Nobody waits for it any more if this fails.
                let _ = bound.send(address);
                tokio::select! {
                    _ = stopped => {}
                    () = accept(listener, router) => {}
                }
            });
        });
        let address = address.await.expect("the thread serves");
        Stub {
            base_url: format!("http://{address}/v1"),
            asked,
            left,
            _stop: stop,
        }
    }

    /// Every request so far.
    pub(crate) fn requests(&self) -> Vec<Asked> {
        self.asked.borrow().clone()
    }

    /// The n-th request, counted from 1, as soon as it has come.
    pub(crate) async fn asked(&self, number: usize) -> Asked {
        let mut asked = self.asked.clone();
        let came = asked.wait_for(|all| all.len() >= number);
        let all = tokio::time::timeout(PATIENCE, came)
            .await
            .unwrap_or_else(|_| panic!("no request {number} comes"))
            .expect("the provider lives as long as this");
        all[number - 1].clone()
    }

    /// Waits until so many clients have gone away before their answer's end.
    pub(crate) async fn left(&self, clients: usize) {
        let mut left = self.left.clone();
        let gone = left.wait_for(|left| *left >= clients);
        tokio::time::timeout(PATIENCE, gone)
            .await
            .expect("the client goes away")
            .expect("the provider lives as long as this");
    }
}

/// Connections end with the runtime that they are served by.
async fn accept(listener: TcpListener, router: Router) {
    while let Ok((stream, _)) = listener.accept().await {
        stream.set_nodelay(true).expect("loopback has this");
        let service = TowerToHyperService::new(router.clone());
        tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
    }
}

struct Playing {
    script: Mutex<Script>,
    tell: watch::Sender<Vec<Asked>>,
    left: watch::Sender<usize>,
}

async fn serve(State(state): State<Arc<Playing>>, parts: Parts, body: Bytes) -> Response {
    let is_model_call = parts.method == Method::POST && parts.uri.path() == "/v1/responses";
    let (asked, answer) = {
        // One at a time, so that the order in which they are kept is the order in which they are answered.
        let mut script = state
            .script
            .lock()
            .expect("a script that panics ends the test");
        let asked = Asked::new(
            state.tell.borrow().len() + 1,
            &parts,
            serde_json::from_slice(&body).unwrap_or(Value::Null),
        );
        let answer = match is_model_call {
            true => script(&asked),
            false => Answer::fails(404, "not_found", "there is nothing but POST /v1/responses"),
        };
        state.tell.send_modify(|all| {
            all.push(asked.clone());
            if let Some(old) = all.len().checked_sub(WHOLE + 1) {
                all[old].body = Value::Null;
            }
        });
        (asked, answer)
    };
    let (status, kind, frames) = wire::frames(answer, asked.number);
    let sending = Sending {
        frames: frames.into_iter(),
        state,
    };
    let bytes = stream::unfold(sending, |mut sending| async {
        let piece = sending.next().await?;
        // A pause before each is what makes them packets of their own.
        tokio::task::yield_now().await;
        Some((piece, sending))
    });
    Response::builder()
        .status(StatusCode::from_u16(status).expect("the script names a status"))
        .header("content-type", kind)
        .body(Body::from_stream(bytes))
        .expect("these are headers")
}

/// What is left of an answer.
struct Sending {
    frames: std::vec::IntoIter<Frame>,
    state: Arc<Playing>,
}

impl Sending {
    async fn next(&mut self) -> Option<std::io::Result<Bytes>> {
        loop {
            match self.frames.next()? {
                Frame::Bytes(bytes) => return Some(Ok(Bytes::from(bytes))),
                Frame::Until(gate) => gate.pass().await,
                // The connection ends without the end of the body, after what was said before has left.
                Frame::Cut => return Some(Err(std::io::Error::other("cut, as the script says"))),
                Frame::Silence => {
                    // Until the client goes away.
                    self.frames = vec![Frame::Silence].into_iter();
                    return std::future::pending().await;
                }
            }
        }
    }
}

impl Drop for Sending {
    fn drop(&mut self) {
        if self.frames.len() > 0 {
            self.state.left.send_modify(|left| *left += 1);
        }
    }
}
