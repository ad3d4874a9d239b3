//! What every client of a server over HTTP has in common here: how it connects, and what of an address and an error may be shown.

use std::sync::Once;
use std::time::Duration;

use reqwest::{ClientBuilder, Url};

/// A client for this address, to be built. It follows no redirect and repeats nothing by itself.
pub fn client(url: &Url, connect_timeout_ms: u64) -> ClientBuilder {
    static PROVIDER: Once = Once::new();
    PROVIDER.call_once(|| {
        // An error says that there is one already, which serves as well.
        let _ = rustls::crypto::ring::default_provider().install_default();
    });
    let mut client = reqwest::Client::builder()
        .user_agent(concat!("rat-things/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(Duration::from_millis(connect_timeout_ms))
        // A redirect would carry the conversation, and maybe the key, to a server that nobody configured.
        .redirect(reqwest::redirect::Policy::none())
        // The caller decides about repeating, and counts it.
        .retry(reqwest::retry::never());
    if url.scheme() == "http" {
        // Without TLS there is nothing to verify, and machines without CA certificates can still use a local server.
        client = client.tls_certs_only([]);
    }
    if is_local(url) {
        client = client.no_proxy();
    }
    client
}

/// An error with what caused it; the first line alone says little.
pub fn causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text.push_str(": ");
            text.push_str(&cause_text);
        }
        source = cause.source();
    }
    text
}

/// A base URL without what may be secret in it.
pub fn shown(base_url: &str) -> String {
    let parsed = Url::parse(base_url).ok();
    let Some(mut url) = parsed.filter(|url| !url.cannot_be_a_base()) else {
        // What can't be taken apart is cut where secrets usually are.
        let public = base_url.rsplit('@').next().unwrap_or_default();
        return public.split('?').next().unwrap_or_default().to_owned();
    };
    let _ = url.set_password(None);
    let _ = url.set_username("");
    url.set_query(None);
    url.set_fragment(None);
    url.to_string().trim_end_matches('/').to_owned()
}

/// Whether the address is on this machine, where no proxy has to be passed.
pub fn is_local(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    matches!(host, "localhost" | "[::1]") || host.starts_with("127.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_secret_is_shown() {
        for (base_url, expect) in [
            ("https://api.example.com/v1/", "https://api.example.com/v1"),
            (
                "https://user:pass@api.example.com/v1?key=1#x",
                "https://api.example.com/v1",
            ),
            ("user:pass@nowhere?key=1", "nowhere"),
            ("http://user:pass@", ""),
        ] {
            assert_eq!(shown(base_url), expect);
        }
    }

    #[test]
    fn local_addresses_are_known() {
        let local = |url: &str| Url::parse(url).is_ok_and(|url| is_local(&url));
        assert!(
            local("http://localhost:1/x") && local("http://127.0.0.2") && local("http://[::1]:1")
        );
        assert!(!local("http://128.0.0.1") && !local("http://localhost.example.com"));
    }
}
