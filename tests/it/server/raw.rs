//! Bytes on a connection, for what no client library would do.

use std::net::SocketAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::watch;
use tokio::time::timeout;

use rat_things::server::{Access, Limits, Server};

use super::world::Api;
use crate::cli::env::PATIENCE;

/// A server in this process over the data of a daemon, within bounds of its own. It ends with this value.
pub struct Served {
    pub address: SocketAddr,
    _running: watch::Sender<bool>,
}

impl Served {
    /// Serves what the daemon serves, to the same keys.
    pub async fn begin(api: &Api, limits: Limits) -> Served {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("is free");
        let address = listener.local_addr().expect("is bound");
        let (running, stopped) = watch::channel(false);
        let server = Server::new(api.core(), Access::Keys, stopped).within(limits);
        tokio::spawn(server.serve(listener));
        Served {
            address,
            _running: running,
        }
    }

    /// The head of a request with the daemon's key, up to the blank line; `fields` end with CRLF each.
    pub fn head(&self, api: &Api, method: &str, path: &str, fields: &str) -> String {
        head(&api.key, method, path, fields)
    }
}

/// The head of a request with this key, up to the blank line; `fields` end with CRLF each.
pub fn head(key: &str, method: &str, path: &str, fields: &str) -> String {
    format!(
        "{method} /v1{path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {key}\r\n\
         openai-beta: agents=v1\r\n{fields}\r\n"
    )
}

/// One connection.
pub struct Raw(TcpStream);

impl Raw {
    /// Connects.
    pub async fn to(address: SocketAddr) -> Raw {
        Raw(TcpStream::connect(address).await.expect("connects"))
    }

    /// Connects with as little room for what comes as there can be.
    pub async fn narrow(address: SocketAddr) -> Raw {
        let socket = TcpSocket::new_v4().expect("a socket");
        socket.set_recv_buffer_size(4 << 10).expect("is set");
        Raw(socket.connect(address).await.expect("connects"))
    }

    /// Sends; whether the other side still takes it.
    pub async fn send(&mut self, bytes: impl AsRef<[u8]>) -> bool {
        let sent = timeout(PATIENCE, self.0.write_all(bytes.as_ref())).await;
        sent.expect("is taken or refused").is_ok()
    }

    /// Everything that comes until the other side closes. A reset is an end, too.
    pub async fn rest(&mut self) -> String {
        let mut all = Vec::new();
        let mut buffer = vec![0; 64 << 10];
        loop {
            match timeout(PATIENCE, self.0.read(&mut buffer)).await {
                Ok(Ok(0) | Err(_)) => return String::from_utf8_lossy(&all).into_owned(),
                Ok(Ok(n)) => all.extend_from_slice(&buffer[..n]),
                Err(_) => panic!("it is still open, {} bytes came", all.len()),
            }
        }
    }

    /// Everything up to this text, and the text. What came behind it is lost.
    pub async fn until(&mut self, text: &str) -> String {
        let mut all = Vec::new();
        loop {
            let read = timeout(PATIENCE, self.0.read_u8()).await;
            all.push(read.expect("goes on").expect("is open"));
            if all.ends_with(text.as_bytes()) {
                return String::from_utf8_lossy(&all).into_owned();
            }
        }
    }
}

/// The body of an answer in chunks; a last chunk that was cut is left out.
pub fn unchunked(mut rest: &str) -> String {
    let mut body = String::new();
    while let Some((size, behind)) = rest.split_once("\r\n") {
        let size = usize::from_str_radix(size, 16).expect("a size");
        let Some(chunk) = behind.get(..size).filter(|chunk| !chunk.is_empty()) else {
            break;
        };
        body.push_str(chunk);
        rest = behind[size..].trim_start_matches("\r\n");
    }
    body
}
