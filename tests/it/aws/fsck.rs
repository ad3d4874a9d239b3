//! Fsck over an account: what is sound is found sound, what no row names is found and removed, and nothing else is.

use std::sync::Arc;

use aws_sdk_s3::primitives::ByteStream;
use pretty_assertions::assert_eq;
use rat_things::api::{self, InputEvent, InputMessage, MessageInput};
use rat_things::backend::aws::blobs::S3Blobs;
use rat_things::backend::aws::inventory::AwsInventory;
use rat_things::backend::aws::secrets::ManagedSecrets;
use rat_things::backend::aws::store::DynamoStore;
use rat_things::backend::local::bell::LocalBell;
use rat_things::backend::local::clock::SystemClock;
use rat_things::backend::local::ids::SystemIds;
use rat_things::backend::memory::clock::ManualClock;
use rat_things::engine::core::{Core, Settings};
use rat_things::engine::fsck::{Fsck, Inventory, Options, Outcome};
use rat_things::engine::ids::{SessionId, sha256_hex};
use rat_things::engine::keys::owner_of;
use rat_things::engine::ports::{BlobScope, BlobSource, Clock, Key, Principal, Store};

use super::emulators::Place;
use super::place;

const DAY_MS: u64 = 24 * 3_600_000;

struct Account {
    place: Place,
    core: Core,
    clock: Arc<ManualClock>,
    owner: String,
    _dir: tempfile::TempDir,
}

impl Account {
    fn new() -> Account {
        let place = place();
        let dir = tempfile::tempdir().expect("a directory");
        // S3 has its own clock, and so this one begins where that is.
        let clock = Arc::new(ManualClock::new(SystemClock.now_ms()));
        let (clients, places) = (&place.clients, &place.places);
        let core = Core {
            store: Arc::new(DynamoStore::new(clients, places)),
            blobs: Arc::new(S3Blobs::new(clients, places)),
            secrets: Arc::new(ManagedSecrets::new(clients, &places.table, &places.bucket)),
            clock: clock.clone(),
            ids: Arc::new(SystemIds),
            bell: Arc::new(LocalBell::new(dir.path().to_owned())),
            settings: Settings::default(),
        };
        let name = "aws:111122223333:role/Ops".to_owned();
        Account {
            place,
            core,
            clock,
            owner: owner_of(&Principal { name }),
            _dir: dir,
        }
    }

    async fn session(&self, key: &str) -> SessionId {
        let body = br#"{"environment":{"type":"openai_hosted"},"agent":{"model":"demo"}}"#;
        let params = api::parse_session_create(body).expect("a request");
        let created = self.core.create_session(&self.owner, Some(key), &params);
        let session = created.await.expect("a session").session;
        let events = [InputEvent::Message(MessageInput {
            input: vec![InputMessage::text(format!("hello {key}"))],
            delivery: None,
        })];
        let sent = self.core.send(&self.owner, &session, key, &events).await;
        sent.expect("accepted");
        session
    }

    async fn put(&self, key: &str, text: &str) {
        let put = self.place.clients.s3().put_object();
        let put = put.bucket(&self.place.places.bucket).key(key);
        let put = put.body(ByteStream::from(text.as_bytes().to_vec()));
        put.send().await.expect("an object");
    }

    async fn fsck(&self, repair: bool) -> Outcome {
        // One that remembers nothing reads everything.
        let store = DynamoStore::new(&self.place.clients, &self.place.places);
        let core = Core {
            store: Arc::new(store),
            ..self.core.clone()
        };
        let inventory = AwsInventory::new(&self.place.clients, &self.place.places);
        let options = Options {
            repair,
            contents: true,
        };
        let checked = Fsck::new(&core, &inventory, options, &|_| {}).run().await;
        checked.expect("a check")
    }
}

fn found(outcome: &Outcome) -> Vec<(&'static str, &str, bool)> {
    let found = outcome.found.iter();
    found
        .map(|judged| {
            let finding = &judged.finding;
            let of = finding.key.partition.split('/').next().unwrap_or_default();
            (finding.invariant.code(), of, judged.repaired)
        })
        .collect()
}

#[tokio::test]
async fn what_no_row_names_is_left_over_after_a_day_and_nothing_else_is() {
    let account = Account::new();
    let session = account.session("one").await;
    account.session("two").await;
    let sound = account.fsck(false).await;
    assert_eq!(found(&sound), []);
    assert_eq!((sound.tally.sessions, sound.tally.owners), (2, 1));

    // What a commit that failed left, beside content that is named; what is left of a Session that is gone; and a blob of nobody.
    let digest = |text: &str| sha256_hex(text.as_bytes());
    let beside = format!("rows/S/{}/{}", session.as_str(), digest("beside"));
    let gone = format!("rows/S/sess_{}/{}", "a".repeat(26), digest("gone"));
    account.put(&beside, "beside").await;
    account.put(&gone, "gone").await;
    let scope = BlobScope {
        owner: account.owner.clone(),
        session: session.as_str().to_owned(),
    };
    let blob = BlobSource::Bytes(b"of nobody".as_slice().into());
    account.core.blobs.put(&scope, blob).await.expect("a blob");
    let young = account.fsck(true).await;
    assert_eq!(found(&young), [], "it may be on its way into a row");

    account.clock.advance(2 * DAY_MS);
    let old = account.fsck(false).await;
    let mut seen = found(&old);
    seen.sort();
    assert_eq!(seen, [("I14", "S", false); 3], "{:#?}", old.found);
    let mended = account.fsck(true).await;
    assert_eq!(mended.left(), 0, "{:#?}", mended.found);
    assert_eq!(found(&account.fsck(false).await), []);

    // What rows name is there, and whoever knew nothing reads it.
    let clean = DynamoStore::new(&account.place.clients, &account.place.places);
    let input = Key::new(format!("S/{}", session.as_str()), "input/0000000001");
    let input = clean.get(&input).await.expect("it is read");
    let input = input.expect("it is there");
    assert!(String::from_utf8_lossy(&input.value).contains("hello one"));
}

#[tokio::test]
async fn what_was_taken_for_left_over_and_is_named_again_stays() {
    let account = Account::new();
    let inventory = AwsInventory::new(&account.place.clients, &account.place.places);
    let key = format!("rows/S/sess_a/{}", sha256_hex(b"again"));
    account.put(&key, "again").await;
    let now_ms = account.clock.now_ms();
    let later_ms = now_ms + 2 * DAY_MS;
    let some = inventory.leftovers("", later_ms).await.expect("a list");
    let (leftovers, last) = some.expect("some");
    assert_eq!((leftovers.len(), last.as_str()), (1, key.as_str()));
    assert_eq!(inventory.leftovers(&last, later_ms).await, Ok(None));
    // Somebody stored the same bytes meanwhile, at a time that is not long past.
    let removed = inventory.remove_leftover(&leftovers[0], now_ms - DAY_MS);
    assert_eq!(removed.await, Ok(false));
    let removed = inventory.remove_leftover(&leftovers[0], later_ms);
    assert_eq!(removed.await, Ok(true));
    assert_eq!(inventory.leftovers("", later_ms).await, Ok(None));
}

#[tokio::test]
async fn partitions_are_listed_in_order_however_the_table_has_them() {
    let account = Account::new();
    for key in ["b", "a", "c"] {
        account.session(key).await;
    }
    let inventory = AwsInventory::new(&account.place.clients, &account.place.places);
    let (mut all, mut after) = (Vec::new(), String::new());
    loop {
        let page = inventory.partitions(&after, 2).await.expect("a page");
        let Some(last) = page.last().cloned() else {
            break;
        };
        assert!(page.len() <= 2);
        all.extend(page);
        after = last;
    }
    assert!(all.is_sorted(), "{all:?}");
    let sessions = all.iter().filter(|name| name.starts_with("S/")).count();
    let owners = all.iter().filter(|name| name.starts_with("O/")).count();
    assert_eq!((sessions, owners), (3, 1), "{all:?}");
}
