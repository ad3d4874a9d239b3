//! Every kind of damage is found and named, for what it is; and nothing is done about what a person has to understand first.

use std::fs;

use rat_things::engine::fsck::Options;
use rat_things::engine::keys;
use rat_things::engine::ports::Key;
use rusqlite::Connection;
use serde_json::json;

use super::place::{Place, REPAIR, THOROUGH, nobody};
use crate::cli::env::files_below;
use crate::engine::bench::OWNER;

/// What the only finding, or one of several, must say.
async fn says(place: &Place, code: &str, words: &str) {
    let found = place.findings().await;
    let said = found
        .iter()
        .any(|line| line.starts_with(code) && line.contains(words));
    assert!(said, "{code} … {words}: {found:#?}");
}

#[tokio::test]
async fn rows_that_are_lost_garbled_or_strange_are_named() {
    let place = Place::new().await;
    place.put(place.mine(keys::turn(1)), b"{".to_vec()).await;
    says(&place, "form", "turn/0000000001: it can't be read").await;
    let marker = json!({"owner": OWNER, "archive": "x", "started_ms": 1}).to_string();
    place.put(place.mine(keys::IMPORT), marker.into()).await;
    says(&place, "form", "marked as not over, and it has a head").await;
    place.lose(place.mine(keys::IMPORT)).await;
    place.put(place.mine("secret/1"), b"1".to_vec()).await;
    says(&place, "form", "is no row of a session").await;
    place.lose(place.mine(keys::CONFIG)).await;
    says(&place, "form", "no configuration").await;
    place.lose(place.mine(keys::input(1))).await;
    says(&place, "I1", "input rows").await;
    place.lose(place.mine(keys::journal(3))).await;
    says(&place, "I16", "").await;
    let before = place.findings().await;
    let outcome = place.fsck(REPAIR).await;
    assert!(outcome.found.iter().all(|judged| !judged.repaired));
    assert_eq!(place.findings().await, before, "a person has to look");
}

#[tokio::test]
async fn a_head_that_can_not_be_read_condemns_nothing() {
    let place = Place::new().await;
    let orphan = place.orphan(OWNER, &place.eventful.session, "x").await;
    place.put(place.mine(keys::HEAD), b"{}".to_vec()).await;
    says(&place, "form", "head: it can't be read").await;
    let before = place.store.stats().commits;
    place.fsck(REPAIR).await;
    assert!(orphan.exists());
    let outcome = place.fsck(REPAIR).await;
    assert!(outcome.left() > 0);
    assert!(place.row(&place.mine(keys::turn(1))).await.is_some());
    // Its agenda entries are strays as far as anybody can tell, but nobody can.
    assert_eq!(place.store.stats().commits, before);
}

#[tokio::test]
async fn lists_that_contradict_the_sessions_are_named() {
    let place = Place::new().await;
    let id = place.eventful.session.to_string();
    let created_ms = place.eventful.head().created_ms;
    place.lose(place.listed(keys::session_by_id(&id))).await;
    says(&place, "I11", "its owner's list by id does not have it").await;
    says(&place, "I11", "the list by id does not have this session").await;
    place
        .lose(place.listed(keys::session_by_time(created_ms, &id)))
        .await;
    says(&place, "I11", "its owner's list by time").await;
    let nobody = nobody().to_string();
    place
        .put(place.listed(keys::session_by_id(&nobody)), b"5".to_vec())
        .await;
    says(&place, "I14", "it is listed, and there is no such session").await;
    place.put(place.listed("odd"), Vec::new()).await;
    says(&place, "form", "is no row of an owner").await;
    place.put(Key::new("X/1", "a"), Vec::new()).await;
    says(&place, "form", "no such partition").await;
    place.put(Key::new("A/execute/0", "soon"), Vec::new()).await;
    says(&place, "form", "no agenda entry").await;
}

#[tokio::test]
async fn rows_that_lost_their_head_are_not_taken_for_those_of_a_deleted_session() {
    let place = Place::new().await;
    place.lose(place.mine(keys::HEAD)).await;
    says(&place, "I14", "lost their session's head, and it is listed").await;
    let outcome = place.fsck(REPAIR).await;
    assert!(outcome.left() > 0);
    assert!(place.row(&place.mine(keys::turn(1))).await.is_some());
}

#[tokio::test]
async fn bytes_that_are_gone_or_changed_are_named() {
    let place = Place::new().await;
    let path = place.some_bytes().await;
    let whole = fs::read(&path).expect("reads");
    let mut flipped = whole.clone();
    flipped[0] ^= 1;
    fs::write(&path, &flipped).expect("damages");
    says(&place, "I1", "can't be read").await;
    let quick = Options::default();
    assert_eq!(place.fsck(quick).await.found, [], "contents are not read");
    fs::write(&path, &whole[1..]).expect("damages");
    says(&place, "I1", "have another length").await;
    assert!(place.fsck(quick).await.left() > 0);
    fs::remove_file(&path).expect("removes");
    says(&place, "I1", "are not stored").await;
    fs::write(&path, &whole).expect("mends");
    assert_eq!(place.findings().await, Vec::<String>::new());
}

#[tokio::test]
async fn damage_below_the_records_is_named_and_the_rest_is_looked_at() {
    let place = Place::new().await;
    let file = Connection::open(place.dir.path().join("store.db")).expect("opens");
    let item = Key::new(keys::session_partition(&place.busy), keys::item(2));
    // Wide enough to be kept apart from its key, and too short to be packed.
    let mut value = place.row(&item).await.expect("is there").value;
    value.resize(1_500, b' ');
    place.put(item, value.clone()).await;
    let lost = file.execute("DELETE FROM body WHERE v = ?1", [&value]);
    assert_eq!(lost, Ok(1));
    file.execute("INSERT INTO body(n, v) VALUES(1000000, 'x')", [])
        .expect("adds");
    let health = place.store.check_all().await.expect("reads");
    assert_eq!(
        health.problems,
        [
            "rows that have lost their values: 1",
            "values that belong to no row: 1"
        ]
    );
    place.lose(place.mine(keys::CONFIG)).await;
    says(&place, "form", "can't be read").await;
    says(&place, "form", "no configuration").await;
}

#[tokio::test]
async fn bytes_are_not_taken_for_left_over_while_a_row_that_may_name_them_can_not_be_read() {
    let place = Place::new().await;
    let orphan = place.orphan(OWNER, &place.busy, "left over").await;
    let item = Key::new(keys::session_partition(&place.busy), keys::item(2));
    let row = place.row(&item).await.expect("is there");
    place.put(item.clone(), b"{".to_vec()).await;
    let found = place.fsck(REPAIR).await.found;
    assert!(found.iter().all(|judged| !judged.repaired), "{found:#?}");
    assert!(orphan.exists());
    // With another thing to be understood first, they are named and stay.
    place.put(item, row.value).await;
    let partition = keys::session_partition(&place.busy);
    place.lose(Key::new(partition, keys::input_end(1))).await;
    let found = place.fsck(REPAIR).await.found;
    let named = found
        .iter()
        .any(|judged| judged.finding.what.contains("no record names its bytes"));
    assert!(named, "{found:#?}");
    assert!(orphan.exists());
    assert_eq!(place.fsck(THOROUGH).await.found.len(), found.len());
}

#[tokio::test]
async fn bytes_of_an_uploaded_file_that_are_not_what_they_should_be() {
    let place = Place::new().await;
    let id = place.upload("some file").await;
    assert_eq!(place.findings().await, Vec::<String>::new());
    let scope = place.dir.path().join("blobs").join(OWNER).join(&id);
    let [file] = &files_below(&scope)[..] else {
        panic!("one file has one blob");
    };
    fs::write(file, "same size").expect("damages");
    let found = place.findings().await;
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(
        found[0].contains(&id) && found[0].contains("can't be read"),
        "{found:?}"
    );
    fs::remove_file(file).expect("loses");
    let found = place.findings().await;
    assert!(found[0].contains("are not stored"), "{found:?}");
}
