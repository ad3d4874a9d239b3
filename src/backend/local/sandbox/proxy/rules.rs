//! Which hosts may be asked for: decided on the authority that was requested, and on nothing else.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};

use crate::engine::ports::Network;

/// Ports that a rule without a port covers.
const USUAL_PORTS: [u16; 2] = [80, 443];

/// A host as it was asked for, in its one normal form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Host {
    /// Lower-case ASCII, no trailing dot, and not something that a resolver would take for an address.
    Name(String),
    /// An address.
    Address(IpAddr),
}

/// A host and a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Authority {
    /// The host.
    pub host: Host,
    /// The port.
    pub port: u16,
}

impl Authority {
    /// Reads `host:port`, or `host` where there is a default. `None` for anything that has another meaning to somebody: user-info,
    /// a number that is an address to some resolvers, an empty label, a character that no host name has.
    pub fn parse(text: &str, default_port: Option<u16>) -> Option<Authority> {
        let (host, port) = if let Some(rest) = text.strip_prefix('[') {
            let (inside, after) = rest.split_once(']')?;
            let host = Host::Address(inside.parse::<Ipv6Addr>().ok()?.into());
            match after.strip_prefix(':') {
                Some(port) => (host, parse_port(port)?),
                None if after.is_empty() => (host, default_port?),
                None => return None,
            }
        } else {
            match text.split_once(':') {
                Some((host, port)) => (parse_host(host)?, parse_port(port)?),
                None => (parse_host(text)?, default_port?),
            }
        };
        Some(Authority { host, port })
    }
}

impl fmt::Display for Authority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.host {
            Host::Name(name) => write!(f, "{name}:{}", self.port),
            Host::Address(IpAddr::V6(v6)) => write!(f, "[{v6}]:{}", self.port),
            Host::Address(IpAddr::V4(v4)) => write!(f, "{v4}:{}", self.port),
        }
    }
}

/// Digits only: `u16::from_str` would take a sign.
fn parse_port(text: &str) -> Option<u16> {
    let digits = !text.is_empty() && text.len() <= 5 && text.bytes().all(|b| b.is_ascii_digit());
    digits
        .then(|| text.parse().ok())
        .flatten()
        .filter(|port| *port != 0)
}

fn parse_host(text: &str) -> Option<Host> {
    let text = text.strip_suffix('.').unwrap_or(text);
    if let Ok(v4) = text.parse::<std::net::Ipv4Addr>() {
        return Some(Host::Address(v4.into()));
    }
    let name = text.to_ascii_lowercase();
    let label_ok = |label: &str| {
        !label.is_empty()
            && label.len() <= 63
            && label
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
    };
    let last = name.rsplit('.').next()?;
    // `2130706433`, `0x7f000001`, `127.1`, `0177.0.0.1`: addresses, to some.
    let numeric = last.bytes().all(|b| b.is_ascii_digit())
        || last
            .strip_prefix("0x")
            .is_some_and(|hex| hex.bytes().all(|b| b.is_ascii_hexdigit()));
    (name.len() <= 253 && name.split('.').all(label_ok) && !numeric).then_some(Host::Name(name))
}

/// What an environment's network policy comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rules {
    /// Any host whose address is public.
    Any,
    /// These only, and their addresses must be public too.
    Listed(Vec<Rule>),
}

/// One allowed host or domain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    name: String,
    /// Whether it stands for every name below `name` (and not for `name` itself).
    below: bool,
    /// `None`: the usual ones.
    port: Option<u16>,
}

/// A domain that is not one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not an allowed domain: {0:?} (write host, host:port or *.domain)")]
pub struct NotADomain(pub String);

impl Rules {
    /// The rules of a policy; `None` where there is no proxy at all.
    pub fn of(network: &Network) -> Result<Option<Rules>, NotADomain> {
        match network {
            Network::Disabled => Ok(None),
            Network::Enabled => Ok(Some(Rules::Any)),
            Network::Restricted { allowed_domains } => allowed_domains
                .iter()
                .map(|domain| Rule::parse(domain))
                .collect::<Result<_, _>>()
                .map(|rules| Some(Rules::Listed(rules))),
        }
    }

    /// Whether this may be asked for.
    pub fn allow(&self, authority: &Authority) -> bool {
        match (self, &authority.host) {
            (Rules::Any, _) => true,
            // An address says nothing about whose it is.
            (Rules::Listed(_), Host::Address(_)) => false,
            (Rules::Listed(rules), Host::Name(name)) => {
                rules.iter().any(|rule| rule.covers(name, authority.port))
            }
        }
    }
}

impl Rule {
    fn parse(text: &str) -> Result<Rule, NotADomain> {
        let refuse = || NotADomain(text.to_owned());
        let (rest, below) = match text.strip_prefix("*.") {
            Some(rest) => (rest, true),
            None => (text, false),
        };
        let (host, port) = match rest.split_once(':') {
            Some((host, port)) => (host, Some(parse_port(port).ok_or_else(refuse)?)),
            None => (rest, None),
        };
        match parse_host(host) {
            Some(Host::Name(name)) => Ok(Rule { name, below, port }),
            Some(Host::Address(_)) | None => Err(refuse()),
        }
    }

    fn covers(&self, name: &str, port: u16) -> bool {
        let name_fits = if self.below {
            name.strip_suffix(&self.name)
                .is_some_and(|front| front.len() > 1 && front.ends_with('.'))
        } else {
            name == self.name
        };
        name_fits
            && self
                .port
                .map_or(USUAL_PORTS.contains(&port), |own| own == port)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_authorities_are_understood() {
        let name = |n: &str| Host::Name(n.to_owned());
        let address = |a: &str| Host::Address(a.parse().expect("an address"));
        for (text, host, port) in [
            ("example.com:443", name("example.com"), 443),
            ("EXAMPLE.com.:80", name("example.com"), 80),
            ("a_b-c:1", name("a_b-c"), 1),
            ("93.184.216.34:80", address("93.184.216.34"), 80),
            ("[2606:4700::1]:443", address("2606:4700::1"), 443),
            ("[::ffff:127.0.0.1]:80", address("::ffff:127.0.0.1"), 80),
        ] {
            assert_eq!(
                Authority::parse(text, None),
                Some(Authority { host, port }),
                "{text}"
            );
        }
        for text in [
            "",
            ":80",
            "example.com",
            "example.com:",
            "example.com:0",
            "example.com:+80",
            "example.com:65536",
            "example.com:80:80",
            "user@example.com:80",
            "example.com@evil.org:80",
            "example..com:80",
            ".example.com:80",
            "example.com..:80",
            "exa mple.com:80",
            "example.com/:80",
            "exämple.com:80",
            "2130706433:80",
            "0x7f000001:80",
            "127.1:80",
            "0177.0.0.1:80",
            "0x7f.1:80",
            "1.2.3.4.5:80",
            "[::1]",
            "[::1]80",
            "[::1%eth0]:80",
            "::1:80",
            "[127.0.0.1]:80",
            "a\0b:80",
            "%31.com:80",
        ] {
            assert_eq!(Authority::parse(text, None), None, "{text}");
        }
    }

    #[test]
    fn rules_cover_what_they_say_and_nothing_that_looks_like_it() {
        let allowed_domains = ["example.com", "API.example.org:8443", "*.sub.test"];
        let allowed_domains = allowed_domains.map(str::to_owned).to_vec();
        let rules = Rules::of(&Network::Restricted { allowed_domains })
            .expect("domains")
            .expect("rules");
        for (text, expect) in [
            ("example.com:443", true),
            ("example.com:80", true),
            ("Example.COM.:443", true),
            ("example.com:22", false),
            ("www.example.com:443", false),
            ("notexample.com:443", false),
            ("example.com.evil.org:443", false),
            ("api.example.org:8443", true),
            ("api.example.org:443", false),
            ("a.sub.test:443", true),
            ("b.a.sub.test:443", true),
            ("sub.test:443", false),
            ("asub.test:443", false),
            ("93.184.216.34:443", false),
            ("[::1]:443", false),
        ] {
            let authority = Authority::parse(text, None).expect("well formed");
            assert_eq!(rules.allow(&authority), expect, "{text}");
            assert!(Rules::Any.allow(&authority), "{text}");
        }
    }

    #[test]
    fn what_is_no_domain_is_refused_as_a_rule() {
        for text in [
            "",
            "*",
            "*.",
            "*.*.com",
            "http://example.com",
            "example.com/x",
            "1.2.3.4",
            "[::1]",
            "a b",
            "example.com:0",
            "**.a",
        ] {
            let allowed_domains = vec![text.to_owned()];
            let rules = Rules::of(&Network::Restricted { allowed_domains });
            assert_eq!(rules, Err(NotADomain(text.to_owned())));
        }
        assert_eq!(Rules::of(&Network::Disabled), Ok(None));
        assert_eq!(Rules::of(&Network::Enabled), Ok(Some(Rules::Any)));
    }
}
