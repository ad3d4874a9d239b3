//! The API over TLS, with certificates that the tests make.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;

use rcgen::{CertifiedKey, generate_simple_self_signed};
use reqwest::{Certificate, Client};

use super::world::Api;
use crate::cli::env::{PATIENCE, TestEnv};

/// A certificate for this machine, and its key, as files in a directory; answers the certificate's text.
fn write_pair(dir: &Path) -> String {
    let names = vec!["localhost".to_owned(), "127.0.0.1".to_owned()];
    let CertifiedKey { cert, signing_key } =
        generate_simple_self_signed(names).expect("a certificate");
    fs::write(dir.join("key.pem"), signing_key.serialize_pem()).expect("writes");
    fs::write(dir.join("cert.pem"), cert.pem()).expect("writes");
    cert.pem()
}

/// Who trusts exactly these certificates.
fn client(certificate: &str) -> Client {
    let certificate = Certificate::from_pem(certificate.as_bytes()).expect("is PEM");
    Client::builder()
        .no_proxy()
        .tls_certs_only([certificate])
        .build()
        .expect("builds")
}

fn served() -> (Api, String) {
    let env = TestEnv::new();
    let certificate = write_pair(&env.path("home"));
    let files = ["--tls-cert", "home/cert.pem", "--tls-key", "home/key.pem"];
    let mut api = Api::with(env, &files);
    assert!(api.base.starts_with("https://127.0.0.1:"), "{}", api.base);
    api.trust(client(&certificate));
    (api, certificate)
}

#[tokio::test]
async fn a_session_is_created_streamed_and_read_over_tls() {
    let (api, certificate) = served();
    let session = api.session("@say hi").await;
    let mut stream = api.stream(&session, "").await;
    api.send(&session, "@say again").await;
    stream.until("agent.session.turn.completed").await;
    let items = api.get(&format!("/agents/sessions/{session}/items")).await;
    assert!(
        items["data"]
            .as_array()
            .is_some_and(|items| items.len() >= 4)
    );
    // A client that trusts somebody else does not talk to it, and one that wants another protocol inside finds none.
    let other = tempfile::tempdir().expect("a directory");
    let stranger = client(&write_pair(other.path()));
    assert!(stranger.get(&api.base).send().await.is_err());
    let trusting = Certificate::from_pem(certificate.as_bytes()).expect("is PEM");
    let http2 = Client::builder().no_proxy().http2_prior_knowledge();
    let http2 = http2.tls_certs_only([trusting]).build().expect("builds");
    assert!(http2.get(&api.base).send().await.is_err());
}

#[tokio::test]
async fn whoever_speaks_no_tls_or_says_nothing_is_in_nobodys_way() {
    let (api, _) = served();
    let address = api.base.trim_start_matches("https://");
    let address = address.trim_end_matches("/v1").to_owned();
    // Says nothing, for as long as the test lasts.
    let silent: Vec<TcpStream> = (0..50)
        .map(|_| TcpStream::connect(&address).expect("connects"))
        .collect();
    let plain = tokio::task::spawn_blocking(move || {
        let mut stream = TcpStream::connect(&address).expect("connects");
        stream.set_read_timeout(Some(PATIENCE)).expect("is set");
        let request = b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n";
        stream.write_all(request).expect("writes");
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).expect("is closed in order");
        answer
    });
    let answer = plain.await.expect("reads");
    // An alert of TLS at most, and nothing of HTTP.
    assert!(!answer.starts_with(b"HTTP"), "{answer:?}");
    let agents = api.get("/agents").await;
    assert_eq!(agents["data"], serde_json::json!([]));
    drop(silent);
}

#[tokio::test]
async fn a_new_certificate_is_taken_up_and_a_bad_one_is_not() {
    let (api, first) = served();
    let home = api.env.path("home");
    // A file that is none is told in the log, and the one before it stays.
    fs::write(home.join("cert.pem"), "no certificate").expect("writes");
    let log = api.env.path("daemon.log");
    api.env.until("it is told", || {
        fs::read_to_string(&log).is_ok_and(|log| log.contains("the new certificate is not used"))
    });
    let asks = async |certificate: &str| {
        let url = api.base.replace("/v1", "/healthz");
        client(certificate).get(url).send().await.is_ok()
    };
    assert!(asks(&first).await);
    let second = write_pair(&home);
    let deadline = tokio::time::Instant::now() + PATIENCE;
    while !asks(&second).await {
        assert!(tokio::time::Instant::now() < deadline, "it is not taken up");
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    assert!(!asks(&first).await, "the one before is not shown any more");
}

#[test]
fn a_pair_that_is_none_is_refused_and_the_file_is_named() {
    let env = TestEnv::new();
    env.json("keys create --name some");
    let home = env.path("home");
    write_pair(&home);
    let other = tempfile::tempdir().expect("a directory");
    write_pair(other.path());
    fs::copy(other.path().join("key.pem"), home.join("other.pem")).expect("copies");
    fs::write(home.join("empty.pem"), "").expect("writes");
    fs::write(home.join("large.pem"), vec![b'x'; (1 << 20) + 1]).expect("writes");
    let broken = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    fs::write(home.join("broken.pem"), broken).expect("writes");
    for (cert, key, named) in [
        ("missing.pem", "key.pem", "home/missing.pem"),
        ("cert.pem", "missing.pem", "home/missing.pem"),
        ("empty.pem", "key.pem", "home/empty.pem"),
        ("cert.pem", "empty.pem", "home/empty.pem"),
        ("key.pem", "key.pem", "home/key.pem"),
        ("cert.pem", "cert.pem", "home/cert.pem"),
        ("broken.pem", "key.pem", "home/broken.pem"),
        ("large.pem", "key.pem", "home/large.pem"),
        ("cert.pem", "other.pem", "home/other.pem"),
        (".", "key.pem", "home/."),
    ] {
        let ran = env.run(&format!(
            "daemon run --listen 127.0.0.1:0 --tls-cert home/{cert} --tls-key home/{key}"
        ));
        assert_eq!(ran.code, 2, "{ran:#?}");
        assert!(ran.stderr.contains(named), "{ran:#?}");
        assert!(!ran.stderr.contains("PRIVATE KEY"), "{ran:#?}");
    }
    let half = env.run("daemon run --listen 127.0.0.1:0 --tls-cert home/cert.pem");
    assert_eq!(half.code, 2, "{half:#?}");
    let half = "[profile.default.daemon]\ntls_cert = \"/etc/cert.pem\"\n";
    let ran = TestEnv::configured(half).run("daemon status");
    assert_eq!(ran.code, 2, "{ran:#?}");
    assert!(ran.stderr.contains("`daemon.tls_key` is not"), "{ran:#?}");
}
