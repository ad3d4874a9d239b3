//! The environment variables of commands: a short fixed list, then the environment's own, then the command's. Nothing of ours.

use std::collections::BTreeMap;

use super::wire::PROXY_PORT;

/// Where commands in a sandbox find programs.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Hosts that programs should not ask the proxy for: the sandbox's own.
const NO_PROXY: &str = "localhost,127.0.0.1,::1";

/// Variables that say nothing about whose machine this is, taken from our own environment where there is no sandbox.
const FROM_HOST: &[&str] = &[
    "PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "USER", "LOGNAME", "SHELL", "TMPDIR",
];

/// What every command in a sandbox sees.
pub(super) fn sandboxed(proxy: bool) -> BTreeMap<String, String> {
    let mut variables = owned(&[
        ("HOME", "/home/agent"),
        ("LANG", "C.UTF-8"),
        ("LOGNAME", "agent"),
        ("PATH", PATH),
        ("SHELL", "/bin/sh"),
        ("TERM", "dumb"),
        ("TMPDIR", "/tmp"),
        ("USER", "agent"),
        ("WORKSPACE", "/workspace"),
    ]);
    if proxy {
        let url = format!("http://127.0.0.1:{PROXY_PORT}");
        for name in [
            "HTTP_PROXY",
            "http_proxy",
            "HTTPS_PROXY",
            "https_proxy",
            "ALL_PROXY",
            "all_proxy",
        ] {
            variables.insert(name.to_owned(), url.clone());
        }
        variables.extend(owned(&[
            ("NO_PROXY", NO_PROXY),
            ("no_proxy", NO_PROXY),
            // Node does not look at the others without it.
            ("NODE_USE_ENV_PROXY", "1"),
        ]));
    }
    variables
}

/// What every command sees that runs on the host itself.
pub(super) fn bare(workspace: &str) -> BTreeMap<String, String> {
    let mut variables: BTreeMap<String, String> = FROM_HOST
        .iter()
        .filter_map(|name| Some(((*name).to_owned(), std::env::var(name).ok()?)))
        .collect();
    variables.extend(owned(&[
        ("HOME", workspace),
        ("TERM", "dumb"),
        ("WORKSPACE", workspace),
    ]));
    variables
        .entry("PATH".to_owned())
        .or_insert_with(|| PATH.to_owned());
    variables
}

/// The first name or value that no process can be given, in words.
pub(super) fn refusal(variables: &BTreeMap<String, String>) -> Option<String> {
    variables.iter().find_map(|(name, value)| {
        let bad_name = name.is_empty() || name.contains(['=', '\0']);
        // The value may be a secret: only the name is repeated.
        (bad_name || value.contains('\0'))
            .then(|| format!("no process can be given the environment variable {name:?}"))
    })
}

fn owned(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn impossible_variables_are_named_without_their_value() {
        assert_eq!(refusal(&owned(&[("A", "1"), ("B_2", "")])), None);
        for (name, value) in [
            ("", "secret"),
            ("A=B", "secret"),
            ("A", "sec\0ret"),
            ("A\0", "secret"),
        ] {
            let refusal = refusal(&owned(&[(name, value)])).expect("refused");
            assert!(!refusal.contains("sec"), "{refusal}");
        }
    }
}
