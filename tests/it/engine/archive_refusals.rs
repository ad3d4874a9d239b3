//! Archives that are not whole: each is refused with one sentence, and nothing has changed.

use rat_things::engine::archive::ArchiveError;
use serde_json::json;

use super::archives::{Target, busy_life};
use super::entries::{Entries, manifest, rows};

type Tampering = Box<dyn Fn(&mut Entries)>;

#[tokio::test(start_paused = true)]
pub async fn an_archive_that_is_not_whole_changes_nothing_and_says_why() {
    let (_, session, entries) = busy_life().await;
    let place = |prefix: &str| {
        let mut names = entries.iter();
        names
            .position(|(name, _)| name.starts_with(prefix))
            .expect("is there")
    };
    let (records, journal, blob) = (place("records/"), place("journal/"), place("blobs/"));
    let named = |entries: &mut Entries, at: usize, name: &str| {
        entries.insert(at, (name.to_owned(), b"x".to_vec()));
    };
    let cases: Vec<(Tampering, &str)> = vec![
        (Box::new(|e| e.clear()), "it is empty"),
        (
            Box::new(|e| drop(e.remove(0))),
            "where manifest.json must come",
        ),
        (Box::new(|e| e[0].1.truncate(9)), "manifest.json"),
        (
            Box::new(|e| manifest(e, |m| m["version"] = json!(2))),
            "reads version 1",
        ),
        (
            Box::new(|e| manifest(e, |m| m["more"] = json!(1))),
            "unknown field",
        ),
        (
            Box::new(|e| manifest(e, |m| m["session"] = json!("sess_x"))),
            "no session id",
        ),
        (
            Box::new(|e| manifest(e, |m| m["records"][0]["rows"] = json!(1))),
            "rows, and the manifest says 1",
        ),
        (
            Box::new(|e| manifest(e, |m| m["revision"] = json!(1))),
            "another revision",
        ),
        (
            Box::new(move |e| named(e, 2, "../../etc/passwd")),
            "leads out of it",
        ),
        (
            Box::new(move |e| named(e, 2, "/etc/passwd")),
            "leads out of it",
        ),
        (
            Box::new(move |e| named(e, blob, "blobs/..\\x")),
            "leads out of it",
        ),
        (
            Box::new(move |e| named(e, blob, "notes.txt")),
            "does not belong to it",
        ),
        (
            Box::new(|e| e.push(("more".into(), vec![]))),
            "does not belong to it",
        ),
        (
            Box::new(move |e| {
                let twice = e[blob].clone();
                e.insert(blob, twice);
            }),
            "is there twice",
        ),
        (Box::new(|e| e.push(e[1].clone())), "is there twice"),
        (Box::new(move |e| e.swap(records, journal)), "too early"),
        (
            Box::new(|e| e.truncate(e.len() - 1)),
            "it ends before blobs/",
        ),
        (
            Box::new(move |e| e.truncate(records)),
            "it ends before records/",
        ),
        (
            Box::new(move |e| e[blob].1.push(0)),
            "and the manifest says",
        ),
        (
            Box::new(move |e| e[records].1.push(b'\n')),
            "and the manifest says",
        ),
        (
            Box::new(move |e| e[blob].1[0] ^= 1),
            "does not have the digest",
        ),
        (
            Box::new(move |e| e[records].1[9] ^= 1),
            "does not have the digest",
        ),
        (
            Box::new(move |e| e[1].1[9] ^= 1),
            "does not have the digest",
        ),
        (
            Box::new(|e| rows(e, "records", |r| r.swap(1, 2))),
            "out of order",
        ),
        (
            Box::new(|e| rows(e, "records", |r| r.insert(1, r[1].clone()))),
            "is there twice",
        ),
        (
            Box::new(|e| {
                rows(e, "records", |r| {
                    r.push(r#"{"key":"zzz/1","value":1}"#.into())
                })
            }),
            "can't be a row",
        ),
        (
            Box::new(|e| {
                rows(e, "records", |r| {
                    r.push(r#"{"key":"import","value":1}"#.into())
                })
            }),
            "can't be a row",
        ),
        (
            Box::new(|e| {
                rows(e, "records", |r| {
                    r.push(r#"{"key":"turn/9000000000","value":{}}"#.into());
                });
            }),
            "can't be a row",
        ),
        (
            Box::new(|e| rows(e, "records", |r| r[0] = "{".into())),
            "row 1",
        ),
        (
            Box::new(|e| {
                rows(e, "records", |r| {
                    r.retain(|row| !row.contains("\"config\""))
                })
            }),
            "no configuration",
        ),
        (
            Box::new(|e| rows(e, "records", |r| r.retain(|row| !row.contains("\"turn/")))),
            "not sound",
        ),
        (
            Box::new(|e| rows(e, "journal", |r| drop(r.pop()))),
            "not sound",
        ),
        (
            Box::new(|e| rows(e, "head", |r| r[0] = r[0].replace("\"next\":", "\"nxt\":"))),
            "head.json",
        ),
        (
            Box::new(|e| {
                manifest(e, |m| {
                    m["blobs"].as_array_mut().expect("a list").pop();
                });
                e.pop();
            }),
            "not those that its rows name",
        ),
    ];
    for (at, (tamper, expected)) in cases.iter().enumerate() {
        let mut tampered = entries.clone();
        tamper(&mut tampered);
        let here = Target::new();
        let refused = here.import(&tampered).await.expect_err("refused");
        let said = refused.to_string();
        assert!(
            matches!(refused, ArchiveError::Refused { .. }),
            "case {at}: {said}"
        );
        assert!(said.contains(expected), "case {at}: {said}");
        assert!(
            said.len() < 600 && !said.contains('\n'),
            "case {at}: {said}"
        );
        assert_eq!(here.store.records(), [], "case {at}");
        assert_eq!(here.stored(&session), 0, "case {at}");
    }
}
