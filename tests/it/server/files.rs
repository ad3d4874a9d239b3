//! Files: uploaded as both SDKs do it, listed, read back and deleted.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use futures_util::StreamExt;
use rat_things::engine::access::NewKey;
use rat_things::server::Limits;
use reqwest::RequestBuilder;
use serde_json::{Value, json};

use super::raw::Served;
use super::world::{Api, another_millisecond, read, refusal};
use crate::cli::env::files_below;

/// A form of these parts: name, file name, content.
pub fn form(parts: &[(&str, Option<&str>, &[u8])]) -> Vec<u8> {
    let mut body = Vec::new();
    for (name, filename, content) in parts {
        body.extend(b"--b0undary\r\nContent-Disposition: form-data; ");
        body.extend(format!("name=\"{name}\"").bytes());
        if let Some(filename) = filename {
            body.extend(format!("; filename=\"{filename}\"\r\nContent-Type: text/plain").bytes());
        }
        body.extend(b"\r\n\r\n");
        body.extend(*content);
        body.extend(b"\r\n");
    }
    body.extend(b"--b0undary--\r\n");
    body
}

fn post(api: &Api, body: Vec<u8>) -> RequestBuilder {
    api.bare("POST", "/files")
        .header("authorization", format!("Bearer {}", api.key))
        .header("content-type", "multipart/form-data; boundary=b0undary")
        .body(body)
}

/// Uploads a file for `user_data`; its id.
pub async fn upload(api: &Api, name: &str, content: &[u8]) -> String {
    let parts = [
        ("file", Some(name), content),
        ("purpose", None, &b"user_data"[..]),
    ];
    let file = read(post(api, form(&parts)).send().await.expect("answers")).await;
    file["id"].as_str().expect("an id").to_owned()
}

#[tokio::test]
async fn a_file_is_uploaded_listed_read_and_deleted() {
    let api = Api::new();
    // Longer than any piece on its way.
    let content: Vec<u8> = (0..3_000_000u32)
        .flat_map(|n| (n % 251).to_le_bytes())
        .collect();
    let node = form(&[
        ("file", Some("a b.bin"), &content),
        ("purpose", None, b"user_data"),
        ("expires_after[anchor]", None, b"created_at"),
        ("expires_after[seconds]", None, b"3600"),
    ]);
    let python = form(&[
        ("purpose", None, b"batch"),
        ("file", Some("dir/empty"), b""),
    ]);
    let first = read(post(&api, node).send().await.expect("answers")).await;
    another_millisecond().await;
    let second = read(post(&api, python).send().await.expect("answers")).await;
    let created = first["created_at"].as_u64().expect("a time");
    let id = first["id"].as_str().expect("an id");
    assert_eq!(
        first,
        json!({
            "id": id, "bytes": content.len(), "created_at": created, "filename": "a b.bin", "object": "file",
            "purpose": "user_data", "status": "processed", "expires_at": created + 3_600,
        })
    );
    assert_eq!(second["filename"], "dir/empty");
    let lifetime = second["expires_at"]
        .as_u64()
        .zip(second["created_at"].as_u64());
    assert_eq!(lifetime.map(|(to, from)| to - from), Some(30 * 24 * 3_600));

    assert_eq!(api.get(&format!("/files/{id}")).await, first);
    let page = api.get("/files?limit=10000").await;
    assert_eq!(
        page,
        json!({
            "object": "list", "data": [second, first], "has_more": false,
            "first_id": second["id"], "last_id": id,
        })
    );
    let batch = api.get("/files?purpose=batch&order=asc&limit=1").await;
    assert_eq!(batch["data"], json!([second]));

    let path = format!("/files/{id}/content");
    let answer = api.request("GET", &path).send().await.expect("answers");
    let header = |name: &str| answer.headers()[name].to_str().expect("text").to_owned();
    assert_eq!(header("content-type"), "application/octet-stream");
    assert_eq!(header("content-disposition"), "attachment");
    assert_eq!(header("x-content-type-options"), "nosniff");
    assert_eq!(header("content-length"), content.len().to_string());
    assert_eq!(answer.bytes().await.expect("bytes"), content);

    let path = format!("/files/{id}");
    let gone = read(api.request("DELETE", &path).send().await.expect("answers")).await;
    assert_eq!(gone, json!({"id": id, "deleted": true, "object": "file"}));
    for (method, path) in [
        ("GET", path.clone()),
        ("DELETE", path.clone()),
        ("GET", path + "/content"),
    ] {
        let (status, error) = refusal(api.request(method, &path)).await;
        assert_eq!((status, &error["code"]), (404, &json!("not_found_error")));
    }
    assert!(!stored(&api).iter().any(|path| path.contains(id)));
}

/// Paths of all blobs.
fn stored(api: &Api) -> Vec<String> {
    let found = files_below(&api.env.data().join("blobs"));
    found
        .iter()
        .map(|path| path.display().to_string())
        .collect()
}

#[tokio::test]
async fn a_form_that_is_wrong_is_refused_by_name_and_leaves_nothing() {
    let api = Api::new();
    let file = ("file", Some("a"), &b"text"[..]);
    let purpose = ("purpose", None, &b"user_data"[..]);
    let anchor = ("expires_after[anchor]", None, &b"created_at"[..]);
    let seconds = |text: &'static str| ("expires_after[seconds]", None, text.as_bytes());
    for (parts, param) in [
        (vec![purpose], "file"),
        (vec![file], "purpose"),
        (vec![file, file, purpose], "file"),
        (vec![file, purpose, purpose], "purpose"),
        (vec![("file", None, &b"text"[..]), purpose], "file"),
        (vec![("file", Some(""), &b"text"[..]), purpose], "file"),
        (vec![file, ("purpose", None, b"nonsense")], "purpose"),
        (
            vec![file, ("purpose", None, b"assistants_output")],
            "purpose",
        ),
        (vec![file, purpose, anchor], "expires_after[seconds]"),
        (
            vec![file, purpose, seconds("3600")],
            "expires_after[anchor]",
        ),
        (
            vec![file, purpose, anchor, seconds("3599")],
            "expires_after[seconds]",
        ),
        (
            vec![file, purpose, anchor, seconds("2592001")],
            "expires_after[seconds]",
        ),
        (
            vec![file, purpose, anchor, seconds("x")],
            "expires_after[seconds]",
        ),
        (
            vec![
                file,
                purpose,
                ("expires_after[anchor]", None, b"now"),
                seconds("3600"),
            ],
            "expires_after[anchor]",
        ),
        (vec![file, purpose, ("other", None, b"x")], "other"),
    ] {
        let (status, error) = refusal(post(&api, form(&parts))).await;
        assert_eq!((status, &error["param"]), (400, &json!(param)), "{error}");
    }
    for (path, param) in [
        ("/files?limit=10001", "limit"),
        ("/files?purpose=nonsense", "purpose"),
        ("/files?other=1", "other"),
    ] {
        let (status, error) = refusal(api.request("GET", path)).await;
        assert_eq!((status, &error["param"]), (400, &json!(param)));
    }
    let (status, _) = refusal(
        api.request("POST", "/files")
            .json(&json!({"purpose": "vision"})),
    )
    .await;
    assert_eq!(status, 400);
    assert_eq!(api.get("/files").await["data"], json!([]));
    assert_eq!(stored(&api), Vec::<String>::new());
}

/// Sends this over a connection of its own.
fn raw(api: &Api, head: &str, body: &[u8]) -> TcpStream {
    let address = api
        .base
        .trim_start_matches("http://")
        .trim_end_matches("/v1");
    let mut stream = TcpStream::connect(address).expect("connects");
    let head = format!(
        "POST /v1/files HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {}\r\n\
         Content-Type: multipart/form-data; boundary=b0undary\r\n{head}\r\n\r\n",
        api.key
    );
    stream.write_all(head.as_bytes()).expect("is sent");
    stream.write_all(body).expect("is sent");
    stream
}

#[tokio::test]
async fn a_file_that_is_certainly_too_long_is_refused_before_it_is_sent() {
    let api = Api::new();
    let mut stream = raw(&api, "Content-Length: 99999999999", b"--b0undary\r\n");
    let mut answer = vec![0; 4_096];
    let read = stream.read(&mut answer).expect("answers");
    let answer = String::from_utf8_lossy(&answer[..read]);
    assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
    assert!(answer.contains("\"param\":\"file\""), "{answer}");
}

#[tokio::test]
async fn a_key_with_a_smaller_limit_uploads_smaller_files() {
    let api = Api::new();
    let mut key = NewKey::named("small");
    key.limits.body_bytes = Some(100_000);
    let made = api.core().create_key("somebody", key).await;
    let (_, key) = made.expect("makes");
    for (length, expected) in [(100_000, 200), (100_001, 413)] {
        let parts = [
            ("purpose", None, &b"user_data"[..]),
            ("file", Some("a"), &vec![b'x'; length]),
        ];
        let request = api.bare("POST", "/files");
        let request = request.header("authorization", format!("Bearer {key}"));
        let request = request.header("content-type", "multipart/form-data; boundary=b0undary");
        let answer = request.body(form(&parts)).send().await.expect("answers");
        assert_eq!(answer.status().as_u16(), expected);
    }
    assert_eq!(stored(&api).len(), 1);
}

#[tokio::test]
async fn an_upload_that_breaks_off_leaves_nothing() {
    let api = Api::new();
    let whole = form(&[("file", Some("a"), &vec![b'x'; 600_000])]);
    drop(raw(&api, "Content-Length: 900000", &whole[..500_000]));
    // The next one is answered when the first one is long over, if it is ever.
    let id = upload(&api, "next", b"next").await;
    api.env.until("only one is left", || {
        let left = stored(&api);
        left.len() == 1 && left[0].contains(&id)
    });
    let page = api.get("/files").await;
    let ids: Vec<&Value> = page["data"]
        .as_array()
        .expect("a page")
        .iter()
        .map(|file| &file["id"])
        .collect();
    assert_eq!(ids, [&json!(id)]);
}

/// A form that comes in pieces, without its length, and that stalls at its end if `stalls`.
fn in_pieces(api: &Api, served: &Served, length: usize, stalls: bool) -> RequestBuilder {
    let whole = form(&[
        ("purpose", None, b"user_data"),
        ("file", Some("a"), &vec![b'x'; length]),
    ]);
    let mut pieces: Vec<Vec<u8>> = whole.chunks(97).map(<[u8]>::to_vec).collect();
    if stalls {
        pieces.pop();
    }
    let pieces = futures_util::stream::iter(pieces.into_iter().map(Ok::<_, std::io::Error>));
    let silence = futures_util::stream::pending();
    let body = match stalls {
        true => reqwest::Body::wrap_stream(pieces.chain(silence)),
        false => reqwest::Body::wrap_stream(pieces),
    };
    let client = reqwest::Client::builder()
        .no_proxy()
        .build()
        .expect("builds");
    client
        .post(format!("http://{}/v1/files", served.address))
        .header("authorization", format!("Bearer {}", api.key))
        .header("content-type", "multipart/form-data; boundary=b0undary")
        .body(body)
}

#[tokio::test]
async fn an_upload_of_unknown_length_ends_at_the_limit_and_one_that_stalls_after_a_while() {
    let api = Api::new();
    let limits = Limits {
        file_bytes: 1_000,
        body_patience: Duration::from_millis(300),
        ..Limits::default()
    };
    let served = Served::begin(&api, limits).await;
    let answer = in_pieces(&api, &served, 1_000, false).send().await;
    assert_eq!(answer.expect("answers").status().as_u16(), 200);
    let (status, error) = refusal(in_pieces(&api, &served, 1_001, false)).await;
    assert_eq!((status, &error["param"]), (413, &json!("file")));
    let (status, _) = refusal(in_pieces(&api, &served, 900, true)).await;
    assert_eq!(status, 408);
    assert_eq!(stored(&api).len(), 1);
}
