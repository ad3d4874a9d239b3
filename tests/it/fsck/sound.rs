//! Sound stores have no findings, whatever goes on in them, and looking changes nothing.

use std::sync::Arc;

use rat_things::backend::local::inventory::LocalInventory;
use rat_things::engine::core::Core;
use rat_things::engine::fsck::{Fsck, Tally};
use rat_things::engine::keys;
use rat_things::engine::ports::Key;

use super::place::{Place, REPAIR, THOROUGH, files};
use crate::engine::archives::half_import;
use crate::engine::bench::OWNER;
use crate::engine::interposed::{Hook, Interposed};
use crate::engine::world::message;

#[tokio::test]
async fn a_store_with_something_of_everything_has_no_findings() {
    let place = Place::new().await;
    let outcome = place.fsck(THOROUGH).await;
    assert_eq!(outcome.found, []);
    let Tally {
        owners,
        sessions,
        rows,
        blobs,
        blob_bytes,
        imports,
    } = outcome.tally;
    assert_eq!((owners, sessions, imports), (1, 2, 0));
    assert!(rows > 80 && blobs > 10 && blob_bytes > 100, "{outcome:?}");
}

#[tokio::test]
async fn looking_and_repairing_what_is_sound_change_nothing() {
    let place = Place::new().await;
    let bytes = files(&place.dir.path().join("blobs"));
    let before = place.store.stats().commits;
    for options in [THOROUGH, REPAIR] {
        assert_eq!(place.fsck(options).await.found, []);
    }
    assert_eq!(place.store.stats().commits, before);
    assert_eq!(files(&place.dir.path().join("blobs")), bytes);
}

#[tokio::test]
async fn what_is_on_its_way_is_no_finding() {
    let place = Place::new().await;
    // Bytes that are stored before the record that names them.
    let young = place.orphan(OWNER, &place.busy, "young").await;
    let file = std::fs::File::options().write(true).open(&young);
    let now = std::time::SystemTime::now();
    file.and_then(|file| file.set_modified(now)).expect("young");
    // An import that goes on, and a Session that is being erased.
    half_import(&place.core, OWNER).await;
    place
        .core
        .delete_session(OWNER, &place.busy)
        .await
        .expect("deleted");
    place
        .lose(Key::new(
            keys::session_partition(&place.busy),
            keys::turn(1),
        ))
        .await;
    place.orphan(OWNER, &place.busy, "being erased").await;
    let outcome = place.fsck(REPAIR).await;
    assert_eq!(outcome.found, []);
    assert_eq!(outcome.tally.imports, 1);
    assert!(young.exists());
}

#[tokio::test]
async fn a_session_that_changes_while_it_is_read_is_read_again() {
    let place = Place::new().await;
    let (core, busy) = (place.core.clone(), place.busy.clone());
    let hook: Hook = Box::new(move || {
        Box::pin(async move {
            let body = serde_json::json!({"events": [message("more")]}).to_string();
            let events = rat_things::api::parse_events(body.as_bytes()).expect("valid");
            core.send(OWNER, &busy, "meanwhile", &events.events)
                .await
                .expect("accepted");
        })
    });
    // What was read before and what is read after do not fit together.
    let core = Core {
        store: Arc::new(Interposed::new(place.store.clone(), &place.busy, hook)),
        ..place.core.clone()
    };
    let inventory = LocalInventory::new(place.store.clone(), place.blobs.clone());
    let outcome = Fsck::new(&core, &inventory, REPAIR, &|_| {}).run().await;
    let outcome = outcome.expect("runs");
    assert_eq!(outcome.found, []);
    let loaded = place.core.load(&place.busy).await.expect("reads");
    let head = loaded.expect("is there").head;
    assert_eq!(head.pending.len(), 1, "it did happen meanwhile");
}
