//! What is read of one of the agent's files. Pure.

use serde::Deserialize;

/// Everything up to and with the last line end. What follows was being written.
pub fn whole_lines(bytes: &[u8]) -> &[u8] {
    let end = memchr::memrchr(b'\n', bytes).map_or(0, |at| at + 1);
    &bytes[..end]
}

/// What a file's first line says of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// Where it is, below the home.
    pub path: String,
    /// Whose history it holds, or a part of.
    pub thread: String,
    /// The thread that began it all; a sub-agent's is its parent's.
    pub session: String,
    /// What its history begins with, if it begins in another file.
    pub base: Option<Base>,
}

/// The beginning of a history, in another thread's file.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Base {
    /// Whose file.
    #[serde(rename = "thread_id")]
    pub thread: String,
    /// How much of it.
    #[serde(rename = "end_byte_offset", default)]
    pub end_bytes: u64,
}

/// Reads a file's first line; `None` if it is none of the agent's files, or its first line is not whole yet.
pub fn head(path: &str, bytes: &[u8]) -> Option<Head> {
    #[derive(Deserialize)]
    struct Line {
        #[serde(rename = "type")]
        kind: String,
        payload: Meta,
    }
    #[derive(Deserialize)]
    struct Meta {
        id: String,
        session_id: Option<String>,
        history_base: Option<Base>,
    }
    let end = memchr::memchr(b'\n', bytes)?;
    let line: Line = serde_json::from_slice(&bytes[..end]).ok()?;
    let Meta {
        id,
        session_id,
        history_base,
    } = line.payload;
    (line.kind == "session_meta").then(|| Head {
        path: path.to_owned(),
        session: session_id.unwrap_or_else(|| id.clone()),
        thread: id,
        base: history_base,
    })
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn what_was_being_written_is_not_read() {
        for (bytes, expect) in [
            ("", ""),
            ("{\"a\":", ""),
            ("{}\n", "{}\n"),
            ("{}\n{\"b\"", "{}\n"),
            ("{}\n{}\n\n", "{}\n{}\n\n"),
        ] {
            assert_eq!(whole_lines(bytes.as_bytes()), expect.as_bytes());
        }
    }

    #[test]
    fn a_head_is_a_whole_first_line_of_the_right_kind() {
        let line = r#"{"ordinal":24,"type":"session_meta","payload":{"id":"t2","session_id":"t1","cli_version":"0.171.0","history_base":{"thread_id":"t1","end_ordinal_exclusive":24,"end_byte_offset":15107}}}"#;
        let expect = Head {
            path: "p".into(),
            thread: "t2".into(),
            session: "t1".into(),
            base: Some(Base {
                thread: "t1".into(),
                end_bytes: 15_107,
            }),
        };
        assert_eq!(head("p", format!("{line}\n{{").as_bytes()), Some(expect));
        assert_eq!(head("p", line.as_bytes()), None);
        for other in [
            "",
            "\n",
            "{}\n",
            "x\n",
            "{\"type\":\"event_msg\",\"payload\":{\"id\":\"t\"}}\n",
        ] {
            assert_eq!(head("p", other.as_bytes()), None, "{other}");
        }
        let plain = "{\"type\":\"session_meta\",\"payload\":{\"id\":\"t\"}}\n";
        let plain = head("p", plain.as_bytes()).expect("it is one");
        assert_eq!((plain.session.as_str(), plain.base), ("t", None));
    }
}
