//! From a configured base URL to the address that is called, and to what may be shown of it. Pure.

use reqwest::Url;

use super::HttpModelError;

/// The address of a base URL's responses.
pub fn endpoint(base_url: &str) -> Result<Url, HttpModelError> {
    let refuse = |reason: String| HttpModelError::BaseUrl {
        url: shown(base_url),
        reason,
    };
    let mut url = Url::parse(base_url).map_err(|error| refuse(error.to_string()))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(refuse("it must begin with http:// or https://".to_owned()));
    }
    match url.path_segments_mut() {
        Ok(mut path) => drop(path.pop_if_empty().push("responses")),
        Err(()) => return Err(refuse("it has no path".to_owned())),
    }
    Ok(url)
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
    fn responses_are_below_the_base_url() {
        for (base_url, expect) in [
            (
                "https://api.example.com/v1",
                "https://api.example.com/v1/responses",
            ),
            (
                "https://api.example.com/v1/",
                "https://api.example.com/v1/responses",
            ),
            ("http://localhost:8080", "http://localhost:8080/responses"),
            (
                "https://x.example/openai?api-version=1",
                "https://x.example/openai/responses?api-version=1",
            ),
        ] {
            assert_eq!(endpoint(base_url).map(String::from).as_deref(), Ok(expect));
        }
    }

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
