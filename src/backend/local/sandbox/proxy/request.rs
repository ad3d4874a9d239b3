//! The head of one proxy request: read strictly, and written anew for the origin, so that both sides of us see the same request.

use super::rules::Authority;

/// Bytes a head may have.
pub(super) const MAX_HEAD_BYTES: usize = 64 << 10;

/// What a client asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Request {
    /// A tunnel.
    Connect(Authority),
    /// One plain HTTP exchange.
    Forward {
        /// Where to.
        authority: Authority,
        /// The head to send to the origin.
        head: Vec<u8>,
        /// What follows the head.
        body: Body,
    },
}

/// How long a request's body is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Body {
    /// Exactly so many bytes.
    Length(u64),
    /// Chunks, up to and including the last one and its trailers.
    Chunked,
}

/// Fields that concern one connection only. `Host` is among them because it is written from the checked authority.
const NOT_FORWARDED: &[&str] = &[
    "connection",
    "host",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "upgrade",
];

/// Reads a head, up to and including its empty line. The error is for the client.
pub(super) fn parse(head: &[u8]) -> Result<Request, &'static str> {
    let head = std::str::from_utf8(head).map_err(|_| "the request head is not text")?;
    let head = head
        .strip_suffix("\r\n\r\n")
        .ok_or("the request head is cut short")?;
    let mut lines = head.split("\r\n");
    let line = lines.next().unwrap_or_default();
    let fields = lines.map(Field::parse).collect::<Result<Vec<_>, _>>()?;
    let mut words = line.split(' ');
    let (Some(method), Some(target), Some(version), None) =
        (words.next(), words.next(), words.next(), words.next())
    else {
        return Err("the request line is malformed");
    };
    if !is_token(method) || !matches!(version, "HTTP/1.1" | "HTTP/1.0") {
        return Err("the request line is malformed");
    }
    if method == "CONNECT" {
        let authority = Authority::parse(target, None).ok_or("CONNECT needs host:port")?;
        return Ok(Request::Connect(authority));
    }
    let (authority, path) = absolute(target)?;
    let body = body(&fields)?;
    let head = rewrite(method, &path, &authority, &fields);
    Ok(Request::Forward {
        authority,
        head,
        body,
    })
}

struct Field<'a> {
    name: &'a str,
    value: &'a str,
}

impl Field<'_> {
    fn parse(line: &str) -> Result<Field<'_>, &'static str> {
        let (name, value) = line.split_once(':').ok_or("a header field is malformed")?;
        // Neither folded lines, nor a space before the colon, nor a bare line end: others read those differently.
        if !is_token(name) || value.bytes().any(|b| b < b' ' && b != b'\t' || b == 0x7f) {
            return Err("a header field is malformed");
        }
        Ok(Field {
            name,
            value: value.trim_matches([' ', '\t']),
        })
    }

    fn is(&self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name)
    }
}

fn is_token(text: &str) -> bool {
    !text.is_empty()
        && text
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b))
}

/// The authority and the path of `http://authority/path`.
fn absolute(target: &str) -> Result<(Authority, String), &'static str> {
    let Some(rest) = strip_scheme(target) else {
        return Err("this is a proxy: ask for http://host/path, or CONNECT");
    };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let authority = Authority::parse(authority, Some(80)).ok_or("the host is malformed")?;
    if path.contains('#') || !path.bytes().all(|b| b.is_ascii_graphic()) {
        return Err("the path is malformed");
    }
    let path = if path.starts_with('/') {
        path.to_owned()
    } else {
        format!("/{path}")
    };
    Ok((authority, path))
}

fn strip_scheme(target: &str) -> Option<&str> {
    let (scheme, rest) = target.split_at_checked("http://".len())?;
    scheme.eq_ignore_ascii_case("http://").then_some(rest)
}

fn body(fields: &[Field<'_>]) -> Result<Body, &'static str> {
    let mut lengths = fields.iter().filter(|field| field.is("content-length"));
    let mut codings = fields.iter().filter(|field| field.is("transfer-encoding"));
    match (
        lengths.next(),
        lengths.next(),
        codings.next(),
        codings.next(),
    ) {
        (None, None, None, None) => Ok(Body::Length(0)),
        (Some(length), None, None, None) => {
            let digits =
                !length.value.is_empty() && length.value.bytes().all(|b| b.is_ascii_digit());
            let length = length.value.parse().ok().filter(|_| digits);
            length
                .map(Body::Length)
                .ok_or("the content length is malformed")
        }
        (None, None, Some(coding), None) if coding.value.eq_ignore_ascii_case("chunked") => {
            Ok(Body::Chunked)
        }
        _ => Err("the length of the body is ambiguous"),
    }
}

fn rewrite(method: &str, path: &str, authority: &Authority, fields: &[Field<'_>]) -> Vec<u8> {
    let named: Vec<&str> = fields
        .iter()
        .filter(|field| field.is("connection"))
        .flat_map(|field| field.value.split(','))
        .map(str::trim)
        .collect();
    let host = match authority.port {
        80 => authority.to_string().trim_end_matches(":80").to_owned(),
        _ => authority.to_string(),
    };
    let mut head = format!("{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n");
    for field in fields {
        let dropped = NOT_FORWARDED.iter().any(|name| field.is(name))
            // What `Connection` names is dropped too, but not what says how long the body is.
            || named.iter().any(|name| field.is(name))
                && !field.is("content-length")
                && !field.is("transfer-encoding");
        if !dropped {
            head.push_str(&format!("{}: {}\r\n", field.name, field.value));
        }
    }
    head.push_str("\r\n");
    head.into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn forward(head: &str) -> (String, String, Body) {
        match parse(head.as_bytes()).expect("understood") {
            Request::Forward {
                authority,
                head,
                body,
            } => (
                authority.to_string(),
                String::from_utf8(head).expect("text"),
                body,
            ),
            Request::Connect(authority) => panic!("a tunnel to {authority}"),
        }
    }

    #[test]
    fn the_origin_sees_the_checked_host_whatever_the_client_claims() {
        let (authority, head, body) = forward(
            "GET http://Example.com/a?b=c HTTP/1.1\r\nHost: evil.org\r\nhost: evil.net\r\nAccept: */*\r\n\
             Proxy-Authorization: Basic x\r\nConnection: keep-alive, X-Hop\r\nX-Hop: 1\r\nUpgrade: websocket\r\n\r\n",
        );
        assert_eq!(authority, "example.com:80");
        assert_eq!(body, Body::Length(0));
        assert_eq!(
            head,
            "GET /a?b=c HTTP/1.1\r\nHost: example.com\r\nConnection: close\r\nAccept: */*\r\n\r\n"
        );
    }

    #[test]
    fn lengths_and_ports_are_kept() {
        let (_, head, body) = forward(
            "POST http://h:8080 HTTP/1.0\r\nContent-Length: 5\r\nConnection: content-length\r\n\r\n",
        );
        assert_eq!(body, Body::Length(5));
        assert_eq!(
            head,
            "POST / HTTP/1.1\r\nHost: h:8080\r\nConnection: close\r\nContent-Length: 5\r\n\r\n"
        );
        let (_, _, body) = forward("PUT HTTP://h?q HTTP/1.1\r\nTransfer-Encoding: Chunked\r\n\r\n");
        assert_eq!(body, Body::Chunked);
    }

    #[test]
    fn a_tunnel_is_asked_for_by_host_and_port() {
        let expect = Authority::parse("example.com:443", None).expect("well formed");
        let head = b"CONNECT example.com:443 HTTP/1.1\r\nHost: other:1\r\n\r\n";
        assert_eq!(parse(head), Ok(Request::Connect(expect)));
    }

    #[test]
    fn what_others_could_read_differently_is_refused() {
        for head in [
            "",
            "GET / HTTP/1.1\r\nHost: example.com\r\n\r\n",
            "GET //example.com/ HTTP/1.1\r\n\r\n",
            "GET https://example.com/ HTTP/1.1\r\n\r\n",
            "GET ftp://example.com/ HTTP/1.1\r\n\r\n",
            "GET http://user@example.com/ HTTP/1.1\r\n\r\n",
            "GET http://example.com@evil.org/ HTTP/1.1\r\n\r\n",
            "GET http://example.com:80@evil.org/ HTTP/1.1\r\n\r\n",
            "GET http://example.com\\@evil.org/ HTTP/1.1\r\n\r\n",
            "GET http://example.com#@evil.org/ HTTP/1.1\r\n\r\n",
            "GET http://2130706433/ HTTP/1.1\r\n\r\n",
            "GET http://example.com/ HTTP/2\r\n\r\n",
            "GET  http://example.com/ HTTP/1.1\r\n\r\n",
            "GET http://example.com/ a HTTP/1.1\r\n\r\n",
            "GET http://example.com/\tx HTTP/1.1\r\n\r\n",
            "G(T http://example.com/ HTTP/1.1\r\n\r\n",
            "GET http://example.com/ HTTP/1.1\r\nA : b\r\n\r\n",
            "GET http://example.com/ HTTP/1.1\r\n folded\r\n\r\n",
            "GET http://example.com/ HTTP/1.1\r\nA: b\nHost: evil.org\r\n\r\n",
            "GET http://example.com/ HTTP/1.1\r\nA: b\rC\r\n\r\n",
            "POST http://example.com/ HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n",
            "POST http://example.com/ HTTP/1.1\r\nContent-Length: +1\r\n\r\n",
            "POST http://example.com/ HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
            "POST http://example.com/ HTTP/1.1\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
            "CONNECT example.com HTTP/1.1\r\n\r\n",
            "CONNECT user@example.com:443 HTTP/1.1\r\n\r\n",
            "CONNECT http://example.com:443 HTTP/1.1\r\n\r\n",
            "connect example.com:443 HTTP/1.1\r\n\r\n",
        ] {
            assert!(parse(head.as_bytes()).is_err(), "{head:?}");
        }
    }
}
