//! The query of a request: every name is known, an empty value is an absent one, and nothing is given twice.

use crate::api::limits::check_metadata;
use crate::api::{ApiError, DEFAULT_PAGE_LIMIT, MAX_PAGE_LIMIT, Metadata, Order, Words};
use crate::engine::read::ListQuery;
use crate::server::openapi::Parameter;

/// Parameters of one query. Nothing here has so many, and each is compared with all.
const MAX_PARAMETERS: usize = 64;

/// Names and values that nobody has taken yet.
#[derive(Debug, Default)]
pub(super) struct Query(Vec<(String, String)>);

impl Query {
    /// Reads what stands behind the question mark.
    pub(super) fn parse(raw: &str) -> Result<Query, ApiError> {
        let mut pairs: Vec<(String, String)> = Vec::new();
        for pair in raw.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let bad =
                || ApiError::invalid_request("", format!("The query can't be read at '{pair}'."));
            if pairs.len() == MAX_PARAMETERS {
                let message = format!("The query has more than {MAX_PARAMETERS} parameters.");
                return Err(ApiError::invalid_request("", message));
            }
            let name = decoded(name).ok_or_else(bad)?;
            let value = decoded(value).ok_or_else(bad)?;
            // A list is given as often as it has values.
            if !name.ends_with("[]") && pairs.iter().any(|(known, _)| *known == name) {
                let message = format!("Parameter '{name}' is given twice.");
                return Err(ApiError::invalid_request(&name, message));
            }
            pairs.push((name, value));
        }
        pairs.retain(|(_, value)| !value.is_empty());
        Ok(Query(pairs))
    }

    /// The value of a name, if there is one.
    pub(super) fn take(&mut self, name: &str) -> Option<String> {
        let at = self.0.iter().position(|(known, _)| known == name)?;
        Some(self.0.remove(at).1)
    }

    /// The values of a name, and those of `name[]`.
    pub(super) fn take_all(&mut self, name: &str) -> Vec<String> {
        let mut values = Vec::new();
        self.0.retain(|(given, value)| {
            let is_it = given.strip_suffix("[]").unwrap_or(given) == name;
            if is_it {
                values.push(value.clone());
            }
            !is_it
        });
        values
    }

    /// `true` or `false`.
    pub(super) fn take_bool(&mut self, name: &str, default: bool) -> Result<bool, ApiError> {
        match self.take(name).as_deref() {
            None => Ok(default),
            Some("true") => Ok(true),
            Some("false") => Ok(false),
            Some(other) => {
                let message = format!("Invalid '{name}': expected true or false, not '{other}'.");
                Err(ApiError::invalid_request(name, message))
            }
        }
    }

    /// All of `name[key]=value`, which obey the rules of metadata.
    pub(super) fn take_metadata(&mut self, name: &str) -> Result<Metadata, ApiError> {
        let key_of = |given: &str| {
            let rest = given.strip_prefix(name)?.strip_prefix('[')?;
            rest.strip_suffix(']').map(str::to_owned)
        };
        let mut map = Metadata::new();
        self.0.retain(|(given, value)| match key_of(given) {
            Some(key) => {
                map.insert(key, value.clone());
                false
            }
            None => true,
        });
        if map.contains_key("") {
            let message = format!("Invalid '{name}': a key is empty.");
            return Err(ApiError::invalid_request(name, message));
        }
        check_metadata(&map)?;
        Ok(map)
    }

    /// Which part of a list: `after`, `limit`, `order`.
    pub(super) fn take_page(&mut self) -> Result<ListQuery, ApiError> {
        self.take_page_of(DEFAULT_PAGE_LIMIT, MAX_PAGE_LIMIT)
    }

    /// The same of a list whose pages have other lengths: if none is given, and at most.
    pub(super) fn take_page_of(&mut self, default: u32, max: u32) -> Result<ListQuery, ApiError> {
        let limit = match self.take("limit") {
            None => default,
            Some(text) => {
                let number = text.parse().ok();
                let number = number.filter(|n| (1..=max).contains(n));
                number.ok_or_else(|| {
                    let message = format!(
                        "Invalid 'limit': expected a whole number from 1 to {max}, not '{text}'."
                    );
                    ApiError::invalid_request("limit", message)
                })?
            }
        };
        let order = match self.take("order") {
            None => Order::default(),
            Some(word) => Order::from_word(&word).map_err(|error| {
                ApiError::invalid_request("order", format!("Invalid 'order': {error}."))
            })?,
        };
        Ok(ListQuery {
            limit: limit as usize,
            after: self.take("after"),
            ascending: order == Order::Asc,
        })
    }

    /// Refuses what is not among these.
    pub(super) fn only(&self, known: &[Parameter]) -> Result<(), ApiError> {
        let is_known = |name: &str| known.iter().any(|parameter| parameter.is(name));
        match self.0.iter().find(|(name, _)| !is_known(name)) {
            None => Ok(()),
            Some((name, _)) => Err(unknown(name)),
        }
    }

    /// Refuses what nobody took.
    pub(super) fn finish(self) -> Result<(), ApiError> {
        match self.0.first() {
            None => Ok(()),
            Some((name, _)) => Err(unknown(name)),
        }
    }
}

fn unknown(name: &str) -> ApiError {
    ApiError::invalid_request(name, format!("Unknown parameter: '{name}'."))
}

/// Text of a query: `+` is a blank, `%41` a byte. `None` if it is neither that nor UTF-8 in the end.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
                let (high, low) = (digit(rest.next())?, digit(rest.next())?);
                u8::try_from(high * 16 + low).ok()?
            }
            other => other,
        });
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn values_are_decoded_and_empty_ones_are_absent() {
        let mut query =
            Query::parse("a=x+y%2Fz&b=&metadata[k%20k]=v&metadata%5Bl%5D=w&c").expect("is one");
        assert_eq!(query.take("a").as_deref(), Some("x y/z"));
        assert_eq!((query.take("b"), query.take("c")), (None, None));
        let map = query.take_metadata("metadata").expect("is metadata");
        let pairs: Vec<(&str, &str)> = map.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
        assert_eq!(pairs, [("k k", "v"), ("l", "w")]);
        assert_eq!(query.finish(), Ok(()));
    }

    #[test]
    fn what_is_wrong_is_named() {
        let refused = |raw: &str| {
            let read = Query::parse(raw).and_then(|mut query| {
                query.take_page()?;
                query.take_bool("yes", true)?;
                query.take_metadata("metadata")?;
                query.finish()
            });
            let error = read.expect_err("is wrong");
            assert_eq!(error.status, 400);
            error.param.unwrap_or_default()
        };
        for (raw, param) in [
            ("limit=0", "limit"),
            ("limit=101", "limit"),
            ("limit=ten", "limit"),
            ("limit=-1", "limit"),
            ("order=up", "order"),
            ("yes=1", "yes"),
            ("after=a&after=b", "after"),
            ("other=1", "other"),
            ("metadata[]=x", "metadata"),
            (&format!("metadata[{}]=x", "k".repeat(65)), "metadata"),
            ("a=%zz", ""),
            ("a=%4", ""),
            ("a=%ff", ""),
        ] {
            assert_eq!(refused(raw), param, "{raw}");
        }
    }

    #[test]
    fn a_page_has_defaults() {
        let query = Query::parse("").and_then(|mut query| query.take_page());
        assert_eq!(query, Ok(ListQuery::default()));
    }
}
