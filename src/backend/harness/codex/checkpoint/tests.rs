//! Checkpoints of homes that are made by hand, cut anywhere.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use bytes::Bytes;
use proptest::prelude::*;

use super::*;

const VERSION: &str = "0.171.0";
const DAY: &str = "sessions/2026/11/30";

/// A file as Codex writes it: its head, and lines that are numbered.
fn file(thread: &str, session: &str, base: Option<(&str, usize)>, lines: usize) -> String {
    let base = base.map_or(String::new(), |(thread, end)| {
        format!(r#","history_base":{{"thread_id":"{thread}","end_ordinal_exclusive":3,"end_byte_offset":{end}}}"#)
    });
    let head = format!(
        r#"{{"ordinal":0,"type":"session_meta","payload":{{"id":"{thread}","session_id":"{session}"{base}}}}}"#
    );
    let line = |n: usize| {
        format!(
            "{{\"ordinal\":{n},\"type\":\"event_msg\",\"payload\":\"{}\"}}\n",
            "x".repeat(n % 300)
        )
    };
    std::iter::once(head + "\n")
        .chain((1..=lines).map(line))
        .collect()
}

fn put(home: &Path, thread: &str, bytes: &[u8]) -> String {
    let path = format!("{DAY}/rollout-2026-11-30T11-37-21-{thread}.jsonl");
    fs::create_dir_all(home.join(DAY)).expect("it can be written");
    fs::write(home.join(&path), bytes).expect("it can be written");
    path
}

fn home() -> tempfile::TempDir {
    tempfile::tempdir().expect("a temporary directory can be made")
}

fn stored(taken: &Taken) -> BTreeMap<String, Bytes> {
    let segments = taken.new.iter();
    segments
        .map(|segment| (segment.saved.blob.sha256.clone(), segment.packed.clone()))
        .collect()
}

#[test]
fn a_thread_is_put_back_with_all_that_it_refers_to() {
    let from = home();
    let root = file("t1", "t1", None, 400);
    let fork = file("t2", "t2", Some(("t1", root.len())), 3);
    let child = file("c1", "t2", None, 2);
    put(from.path(), "t1", root.as_bytes());
    put(from.path(), "t2", fork.as_bytes());
    put(from.path(), "c1", child.as_bytes());
    put(from.path(), "t9", file("t9", "t9", None, 1).as_bytes());
    fs::write(from.path().join("auth.json"), "secret").expect("it can be written");
    let taken = take(from.path(), "t2", VERSION, None).expect("it fits together");
    // Its sub-agent is not: that one has ended by the time.
    assert_eq!(taken.manifest.files.len(), 2);
    assert_eq!(taken.lines, fork.as_bytes());

    let to = home();
    restore(&taken.manifest, &stored(&taken), VERSION, to.path()).expect("it is whole");
    for (thread, expect) in [("t1", &root), ("t2", &fork)] {
        let path = format!("{DAY}/rollout-2026-11-30T11-37-21-{thread}.jsonl");
        let found = fs::read_to_string(to.path().join(path)).expect("it was put back");
        assert_eq!(&found, expect);
    }
    assert_eq!(
        fs::read_dir(to.path().join(DAY))
            .expect("it is there")
            .count(),
        2
    );
    // Into a home that has it already, nothing is put over it.
    let again = restore(&taken.manifest, &stored(&taken), VERSION, to.path());
    assert!(matches!(again, Err(RestoreError::Io(_))));
}

#[test]
fn only_what_is_new_is_to_be_stored() {
    let from = home();
    put(from.path(), "t1", file("t1", "t1", None, 2_000).as_bytes());
    let first = take(from.path(), "t1", VERSION, None).expect("it is there");
    put(from.path(), "t1", file("t1", "t1", None, 2_001).as_bytes());
    let second = take(from.path(), "t1", VERSION, Some(&first.manifest)).expect("it is there");
    assert!(first.new.len() > 3);
    assert_eq!(second.new.len(), 1);
    let grown = file("t1", "t1", None, 2_001).split_off(file("t1", "t1", None, 2_000).len());
    assert_eq!(second.lines, grown.as_bytes());
    let mut all = stored(&first);
    all.extend(stored(&second));
    let to = home();
    restore(&second.manifest, &all, VERSION, to.path()).expect("it is whole");
}

#[test]
fn another_version_a_lost_segment_and_a_damaged_one_are_told_apart() {
    let from = home();
    put(from.path(), "t1", file("t1", "t1", None, 400).as_bytes());
    let taken = take(from.path(), "t1", VERSION, None).expect("it is there");
    let all = stored(&taken);
    let to = home();
    let refused = |manifest: &Manifest, segments: &BTreeMap<String, Bytes>, version: &str| {
        restore(manifest, segments, version, to.path()).expect_err("it is refused")
    };
    let other = refused(&taken.manifest, &all, "0.172.0");
    assert!(matches!(&other, RestoreError::OtherVersion { found, .. } if found == VERSION));
    let missing = refused(&taken.manifest, &BTreeMap::new(), VERSION);
    assert!(matches!(missing, RestoreError::Missing { .. }));
    for at in [0, 5] {
        let mut damaged = all.clone();
        for packed in damaged.values_mut() {
            let mut bytes = packed.to_vec();
            bytes[at] ^= 1;
            *packed = bytes.into();
        }
        let damaged = refused(&taken.manifest, &damaged, VERSION);
        assert!(matches!(damaged, RestoreError::Damaged { .. }));
    }
    let mut elsewhere = taken.manifest.clone();
    elsewhere.thread = "t2".into();
    assert!(matches!(
        refused(&elsewhere, &all, VERSION),
        RestoreError::Damaged { .. }
    ));
    // None of that has written anything.
    assert_eq!(fs::read_dir(to.path()).expect("it is there").count(), 0);
}

#[test]
fn what_is_not_there_is_no_checkpoint() {
    let from = home();
    let take = |thread: &str| take(from.path(), thread, VERSION, None);
    assert!(matches!(take("t1"), Err(TakeError::NothingThere { .. })));
    // A head that is being written.
    let whole = file("t1", "t1", None, 0);
    put(from.path(), "t1", &whole.as_bytes()[..whole.len() - 1]);
    assert!(matches!(take("t1"), Err(TakeError::NothingThere { .. })));
    // A fork of something that is gone, or that is shorter than it was.
    put(
        from.path(),
        "t2",
        file("t2", "t2", Some(("t0", 10)), 1).as_bytes(),
    );
    assert!(matches!(take("t2"), Err(TakeError::Incomplete { .. })));
    put(from.path(), "t3", file("t3", "t3", None, 1).as_bytes());
    put(
        from.path(),
        "t4",
        file("t4", "t4", Some(("t3", 10_000)), 1).as_bytes(),
    );
    assert!(matches!(take("t4"), Err(TakeError::Incomplete { .. })));
}

#[test]
fn links_lead_nowhere() {
    let outside = home();
    put(outside.path(), "t1", file("t1", "t1", None, 1).as_bytes());
    let link = |target: &Path, at: &Path| {
        std::os::unix::fs::symlink(target, at).expect("it can be written");
    };
    let all = home();
    link(
        &outside.path().join("sessions"),
        &all.path().join("sessions"),
    );
    let one = home();
    put(one.path(), "t2", file("t2", "t2", None, 1).as_bytes());
    let target = format!("{DAY}/rollout-2026-11-30T11-37-21-t1.jsonl");
    link(
        &outside.path().join(target),
        &one.path().join(DAY).join("rollout-x-t1.jsonl"),
    );
    for from in [all, one] {
        let taken = take(from.path(), "t1", VERSION, None);
        assert!(matches!(taken, Err(TakeError::NothingThere { .. })));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn cut_anywhere_a_file_is_saved_up_to_its_last_whole_line(lines in 0usize..900, part in 0.0f64..=1.0) {
        let whole = file("t1", "t1", None, lines);
        let cut = (whole.len() as f64 * part) as usize;
        let from = home();
        let path = put(from.path(), "t1", &whole.as_bytes()[..cut]);
        let kept = whole[..cut].rfind('\n').map_or(0, |at| at + 1);
        match take(from.path(), "t1", VERSION, None) {
            Err(error) => {
                prop_assert!(matches!(error, TakeError::NothingThere { .. }), "{}", error);
                prop_assert_eq!(kept, 0);
            }
            Ok(taken) => {
                let to = home();
                restore(&taken.manifest, &stored(&taken), VERSION, to.path()).expect("it is whole");
                let found = fs::read_to_string(to.path().join(path)).expect("it was put back");
                prop_assert_eq!(&found, &whole[..kept]);
                // What is written later changes nothing of what is full.
                put(from.path(), "t1", whole.as_bytes());
                let later = take(from.path(), "t1", VERSION, Some(&taken.manifest)).expect("it is whole");
                let segments = |manifest: &Manifest| manifest.files[0].segments.clone();
                let (before, after) = (segments(&taken.manifest), segments(&later.manifest));
                prop_assert_eq!(&before[..before.len() - 1], &after[..before.len() - 1]);
                prop_assert!(later.new.len() <= after.len() + 1 - before.len());
            }
        }
    }
}
