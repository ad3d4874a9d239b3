//! What is safe is repaired, once; afterwards nothing is found, and the Session works.

use rat_things::engine::archive::ArchiveError;
use rat_things::engine::error::EngineError;
use rat_things::engine::fsck::ORPHANS_AFTER_MS;
use rat_things::engine::ids::{SessionId, sha256_hex};
use rat_things::engine::keys::{self, Group};
use rat_things::engine::ports::{BlobSource, Blobs, Store};
use serde_json::json;

use super::place::{Place, REPAIR, age, nobody};
use crate::cli::env::files_below;
use crate::engine::archives::half_import;
use crate::engine::bench::OWNER;
use crate::engine::world::message;

/// Repairs what was found, which must be so much, and checks that it is gone, that a second repair has nothing to do, and that the
/// Session takes messages.
async fn repairs(place: &Place, expected: &[&str]) {
    let mut found = place.findings().await;
    found.sort();
    assert_eq!(found.len(), expected.len(), "{found:#?}");
    for words in expected {
        assert!(
            found.iter().any(|line| line.contains(words)),
            "{words}: {found:#?}"
        );
    }
    let outcome = place.fsck(REPAIR).await;
    assert!(
        outcome.found.iter().all(|judged| judged.repaired),
        "{outcome:#?}"
    );
    assert_eq!((outcome.found.len(), outcome.left()), (expected.len(), 0));
    let before = place.store.stats().commits;
    assert_eq!(place.fsck(REPAIR).await.found, []);
    assert_eq!(place.store.stats().commits, before, "twice is idle");
}

async fn works(place: &Place) {
    let body = json!({"events": [message("more")]}).to_string();
    let events = rat_things::api::parse_events(body.as_bytes()).expect("valid");
    for session in [&place.busy, &place.eventful.session] {
        place
            .core
            .send(OWNER, session, "after", &events.events)
            .await
            .expect("accepted");
    }
    assert_eq!(place.findings().await, Vec::<String>::new());
}

#[tokio::test]
async fn agenda_entries_that_are_lost_or_that_nobody_knows() {
    let place = Place::new().await;
    let session = &place.eventful.session;
    let head = place.eventful.head();
    for (group, due_ms) in [
        (Group::Execute, head.agenda.execute),
        (Group::Deliver, head.agenda.deliver),
    ] {
        let due_ms = due_ms.expect("owed");
        place.lose(keys::agenda(group, session, due_ms)).await;
    }
    let strays = [
        keys::agenda(Group::Execute, session, 7),
        keys::agenda(Group::Execute, &place.busy, 8),
        keys::agenda(Group::Deliver, &nobody(), 9),
    ];
    for stray in &strays {
        place.put(stray.clone(), Vec::new()).await;
    }
    repairs(
        &place,
        &[
            "it is missing",
            "it is missing",
            "000000000000007/",
            "000000000000008/",
            "000000000000009/",
        ],
    )
    .await;
    for stray in &strays {
        assert_eq!(place.store.get(stray).await, Ok(None));
    }
    works(&place).await;
}

#[tokio::test]
async fn a_head_that_owes_work_and_names_no_entry() {
    let place = Place::new().await;
    place
        .set(place.mine(keys::HEAD), |head| head["due"] = json!({}))
        .await;
    let found = place.findings().await;
    // Both groups owe, and both their entries have become strays.
    assert_eq!(found.len(), 4, "{found:#?}");
    let outcome = place.fsck(REPAIR).await;
    assert_eq!(outcome.left(), 0, "{outcome:#?}");
    assert_eq!(place.fsck(REPAIR).await.found, []);
    works(&place).await;
}

#[tokio::test]
async fn rows_and_bytes_of_a_session_that_was_deleted() {
    let place = Place::new().await;
    let session = place.eventful.session.clone();
    let head = place.eventful.head();
    let orphan = place.orphan(OWNER, &session, "its last bytes").await;
    for key in [
        place.mine(keys::HEAD),
        place.listed(keys::session_by_id(session.as_str())),
        place.listed(keys::session_by_time(head.created_ms, session.as_str())),
        keys::agenda(Group::Execute, &session, head.agenda.execute.expect("owed")),
        keys::agenda(Group::Deliver, &session, head.agenda.deliver.expect("owed")),
    ] {
        place.lose(key).await;
    }
    let found = place.findings().await;
    assert_eq!(found.len(), 1, "{found:#?}");
    let outcome = place.fsck(REPAIR).await;
    assert_eq!(
        (outcome.found.len(), outcome.left()),
        (2, 0),
        "{outcome:#?}"
    );
    assert!(!orphan.exists());
    assert_eq!(place.fsck(REPAIR).await.found, []);
    let partitions = place.store.partitions("S/", 10).await.expect("lists");
    assert_eq!(partitions, [keys::session_partition(&place.busy)]);
}

#[tokio::test]
async fn bytes_that_no_record_names() {
    let place = Place::new().await;
    let left = [
        place.orphan(OWNER, &place.busy, "one").await,
        place.orphan(OWNER, &place.busy, "two").await,
        place.orphan(OWNER, &place.eventful.session, "three").await,
        place.orphan(OWNER, &nobody(), "four").await,
        place.orphan("somebody", &place.busy, "five").await,
    ];
    repairs(
        &place,
        &["2 of its blobs", "its bytes", "its bytes", "its bytes"],
    )
    .await;
    assert!(left.iter().all(|path| !path.exists()));
    works(&place).await;
}

#[tokio::test]
async fn bytes_that_a_chore_will_remove_are_not_left_over() {
    let place = Place::new().await;
    let path = place.orphan(OWNER, &place.busy, "given up").await;
    let chore = |session: &SessionId| {
        let sha256s = [sha256_hex(b"given up")];
        json!({"superseded": {"session": session, "sha256s": sha256s}}).to_string()
    };
    let due_ms = place.core.clock.now_ms() + ORPHANS_AFTER_MS;
    let key = |name: &str| keys::chore(due_ms, OWNER, "superseded", name);
    let (mine, other) = (key("mine"), key("other"));
    place.put(mine.clone(), chore(&place.busy).into()).await;
    assert_eq!(place.fsck(REPAIR).await.found, []);
    assert!(path.exists());
    // Of another Session, it is about other bytes.
    place.lose(mine).await;
    let session = place.eventful.session.clone();
    place.put(other, chore(&session).into()).await;
    repairs(&place, &["its bytes"]).await;
    assert!(!path.exists());
    works(&place).await;
}

#[tokio::test]
async fn bytes_that_are_stored_again_at_this_moment_stay() {
    let place = Place::new().await;
    let path = place.orphan(OWNER, &place.busy, "again").await;
    let scope = place.core.scope(OWNER, &place.busy);
    let bytes = || BlobSource::Bytes("again".into());
    let blob = place.blobs.put(&scope, bytes()).await.expect("stored");
    assert_eq!(place.fsck(REPAIR).await.found, [], "they are young again");
    assert!(path.exists());
    let far_ms = place.core.clock.now_ms() + 10 * 365 * ORPHANS_AFTER_MS;
    // Whoever removes asks when the file is out of its place, too: bytes that are younger than that go back.
    age(&path);
    for (before_ms, removed) in [(1, false), (far_ms, true), (far_ms, false)] {
        let done = place.blobs.remove(&scope, &blob.sha256, before_ms).await;
        assert_eq!(done, Ok(removed), "{before_ms}");
        assert_eq!(path.exists(), !removed && before_ms == 1);
    }
    place.blobs.put(&scope, bytes()).await.expect("stored");
    assert!(path.exists());
}

#[tokio::test]
async fn an_import_that_nobody_goes_on_with() {
    let place = Place::new().await;
    let session = half_import(&place.core, OWNER).await;
    assert_eq!(place.findings().await, Vec::<String>::new());
    place.clock.advance(ORPHANS_AFTER_MS + 1);
    repairs(&place, &["an import of it was begun more than a day ago"]).await;
    let key = rat_things::engine::ports::Key::new(keys::session_partition(&session), keys::IMPORT);
    assert_eq!(place.store.get(&key).await, Ok(None));
    let scope = place.core.scope(OWNER, &session);
    assert_eq!(place.blobs.stored(&scope).await, Ok(Vec::new()));
    let gone = place.core.get_session(OWNER, &session).await;
    assert!(matches!(gone, Err(EngineError::NotFound { .. })));
    assert_eq!(
        place.core.abandon_import(OWNER, &session).await,
        Ok::<bool, ArchiveError>(false)
    );
    works(&place).await;
}

#[tokio::test]
async fn bytes_of_uploads_that_no_record_names() {
    let place = Place::new().await;
    let kept = place.upload("kept").await;
    let lost = place.upload("lost").await;
    for id in [&kept, &lost] {
        let scope = place.dir.path().join("blobs").join(OWNER).join(id);
        files_below(&scope).iter().for_each(|path| age(path));
    }
    let by_id = place.listed(format!("file/{lost}"));
    let at = place.row(&by_id).await.expect("is there").value;
    let at_ms: u64 = serde_json::from_slice(&at).expect("a time");
    place.lose(by_id).await;
    place
        .lose(place.listed(format!("files/{at_ms:015}/{lost}")))
        .await;
    repairs(&place, &["no record names the bytes"]).await;
    let (_, row) = place.core.file(OWNER, &kept).await.expect("is there");
    let left = place.core.open_file(OWNER, &kept, &row).await;
    assert!(left.is_ok());
}

#[tokio::test]
async fn a_checkpoint_that_can_not_be_used_is_dropped() {
    let place = Place::new().await;
    let head = place.eventful.head();
    let row = |item: u64, generation: u64, blobs: serde_json::Value| {
        let row = json!({
            "generation": generation, "item": item, "at_ms": 1, "harness": "h",
            "version": "1", "manifest": {}, "blobs": blobs,
        });
        row.to_string().into_bytes()
    };
    let lost = json!([{"sha256": "0".repeat(64), "size_bytes": 7}]);
    let key = || place.mine(keys::CHECKPOINT);
    for (item, generation, blobs, words) in [
        (1, 1, lost, "are not stored"),
        (
            head.next.item + 1,
            1,
            json!([]),
            "it stands for the items before",
        ),
        (
            1,
            head.fence.generation + 1,
            json!([]),
            "and the fence is at",
        ),
    ] {
        place.put(key(), row(item, generation, blobs)).await;
        repairs(&place, &[words]).await;
        assert!(place.row(&key()).await.is_none());
    }
    works(&place).await;
}
