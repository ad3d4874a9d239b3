//! From a configured base URL to the address that is called. Pure.

use reqwest::Url;

use super::HttpModelError;
use crate::backend::outbound::shown;

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
}
