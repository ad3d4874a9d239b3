//! A client of the least cost: one connection that is kept, requests as bytes, and no more of an answer read than it takes.

use std::io;
use std::net::SocketAddr;

use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;

/// One connection.
pub struct Client {
    stream: BufReader<TcpStream>,
    line: String,
}

impl Client {
    pub async fn connect(address: SocketAddr) -> io::Result<Client> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Client {
            // As small as will do: a thousand of them live beside what they measure.
            stream: BufReader::with_capacity(2 << 10, stream),
            line: String::new(),
        })
    }

    /// Posts JSON and reads the answer to its end; its status.
    pub async fn post(&mut self, path: &str, body: &str) -> io::Result<u16> {
        let request = format!(
            "POST {path} HTTP/1.1\r\nhost: localhost\r\nopenai-beta: agents=v1\r\ncontent-type: application/json\r\n\
             content-length: {}\r\n\r\n{body}",
            body.len()
        );
        self.stream.get_mut().write_all(request.as_bytes()).await?;
        let (status, length) = self.head().await?;
        let mut rest = vec![0; length];
        self.stream.read_exact(&mut rest).await?;
        Ok(status)
    }

    /// Opens a stream and reads its head.
    pub async fn open(&mut self, path: &str) -> io::Result<u16> {
        let request = format!(
            "GET {path} HTTP/1.1\r\nhost: localhost\r\nopenai-beta: agents=v1\r\naccept: text/event-stream\r\n\r\n"
        );
        self.stream.get_mut().write_all(request.as_bytes()).await?;
        Ok(self.head().await?.0)
    }

    /// Waits until a line of an event came.
    pub async fn event(&mut self) -> io::Result<()> {
        loop {
            self.read_line().await?;
            if self.line.starts_with("data:") {
                return Ok(());
            }
        }
    }

    /// Status and length of an answer whose body comes next.
    async fn head(&mut self) -> io::Result<(u16, usize)> {
        self.read_line().await?;
        let status = self.line.split(' ').nth(1).and_then(|s| s.parse().ok());
        let mut length = 0;
        loop {
            self.read_line().await?;
            let line = self.line.trim_end();
            if line.is_empty() {
                return Ok((status.unwrap_or_default(), length));
            }
            if let Some((name, value)) = line.split_once(':')
                && name.eq_ignore_ascii_case("content-length")
            {
                length = value.trim().parse().unwrap_or_default();
            }
        }
    }

    async fn read_line(&mut self) -> io::Result<()> {
        self.line.clear();
        match self.stream.read_line(&mut self.line).await? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            _ => Ok(()),
        }
    }
}
