//! Filters and pages, which all that is described has in common.

use std::collections::BTreeMap;

use super::super::query::Params;
use super::super::refusal::Refusal;
use super::super::xml::{Xml, text};
use super::tags::Tags;

/// Filters of one request, and values of one filter.
const FILTERS_MAX: usize = 50;
const VALUES_MAX: usize = 200;

/// What a resource has to be filtered by: values by the filter's name, beside its tags.
pub(super) type Values<'a> = BTreeMap<&'static str, Vec<&'a str>>;

/// Whether every filter finds one of its values. A filter that is none is refused even if nothing is there to be filtered, as long as
/// `values` has all names.
pub(super) fn matches(params: &Params, values: &Values, tags: &Tags) -> Result<bool, Refusal> {
    let filters = params.list("Filter");
    if filters.len() > FILTERS_MAX {
        return Err(limit(FILTERS_MAX, "filters"));
    }
    let mut all = true;
    for filter in filters {
        let name = filter.text(&["Name"]).unwrap_or_default();
        let wanted = filter.texts("Value");
        if wanted.is_empty() {
            return Err(Refusal::value(format!("The filter '{name}' has no value")));
        }
        if wanted.len() > VALUES_MAX {
            return Err(limit(VALUES_MAX, "values"));
        }
        let found: Vec<&str> = match name.strip_prefix("tag:") {
            Some(key) => tags.get(key).into_iter().map(String::as_str).collect(),
            None if name == "tag-key" => tags.keys().map(String::as_str).collect(),
            None => values.get(name).cloned().ok_or_else(|| {
                let message = format!("The filter '{name}' is invalid");
                Refusal::value(message)
            })?,
        };
        let fits = |value: &&str| wanted.iter().any(|wanted| like(wanted, value));
        all &= found.iter().any(fits);
    }
    Ok(all)
}

fn limit(max: usize, what: &str) -> Refusal {
    let message = format!("The maximum number of {what} specified on a request is {max}");
    Refusal::new("FilterLimitExceeded", message)
}

/// `*` is any number of characters, `?` is one, and a backslash makes a character mean itself.
fn like(pattern: &str, value: &str) -> bool {
    let mut chars = pattern.chars();
    match chars.next() {
        None => value.is_empty(),
        Some('*') => { value.char_indices() }
            .map(|(at, _)| &value[at..])
            .chain([""])
            .any(|rest| like(chars.as_str(), rest)),
        Some(first) => {
            let mut rest = value.chars();
            let literal = if first == '\\' {
                chars.next()
            } else {
                Some(first)
            };
            match (rest.next(), literal) {
                (Some(_), Some('?')) if first == '?' => like(chars.as_str(), rest.as_str()),
                (Some(given), Some(literal)) if given == literal => {
                    like(chars.as_str(), rest.as_str())
                }
                _ => false,
            }
        }
    }
}

/// One page of what was found, and the token of the next one.
pub(super) fn page<T>(
    params: &Params,
    found: Vec<T>,
    usual: usize,
) -> Result<(Vec<T>, Option<Xml>), Refusal> {
    let wanted = match params.text(&["MaxResults"]) {
        None => usual,
        Some(text) => match text.parse() {
            Ok(n @ 5..=1000) => n,
            _ => {
                return Err(Refusal::value(format!(
                    "Value ( {text} ) for parameter maxResults is invalid. Expecting a value between 5 and 1000."
                )));
            }
        },
    };
    let from = match params.text(&["NextToken"]) {
        None => 0,
        Some(token) => {
            { token.strip_prefix("after-").and_then(|n| n.parse().ok()) }.ok_or_else(|| {
                let message = format!("Unable to parse pagination token {token}");
                Refusal::new("InvalidPaginationToken", message)
            })?
        }
    };
    let size = wanted.min(usual);
    let (all, to) = (found.len(), from + size);
    let next = (to < all).then(|| text(format!("after-{to}")));
    Ok((found.into_iter().skip(from).take(size).collect(), next))
}

#[cfg(test)]
mod tests {
    use super::like;

    #[test]
    fn patterns_are_those_of_ec2() {
        for (pattern, value, fits) in [
            ("", "", true),
            ("a", "a", true),
            ("a", "ab", false),
            ("a*", "a", true),
            ("*b", "aab", true),
            ("a*c*", "abcd", true),
            ("a?c", "abc", true),
            ("a?c", "ac", false),
            (r"a\*", "a*", true),
            (r"a\*", "ab", false),
            ("é*", "éa", true),
        ] {
            assert_eq!(like(pattern, value), fits, "{pattern} {value}");
        }
    }
}
