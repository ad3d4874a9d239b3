//! What owners keep in no Session: a program that ends in the middle of anything leaves nothing behind that is not erased.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use rat_things::api::{
    CredentialCreateParams, FilePurpose, Metadata, TemplateCreateParams, VaultCreateParams,
    parse_credential_create, parse_credential_update, parse_template_create, parse_template_update,
};
use rat_things::backend::memory::MemoryStore;
use rat_things::backend::memory::bell::MemoryBell;
use rat_things::backend::memory::blobs::MemoryBlobs;
use rat_things::backend::memory::clock::ManualClock;
use rat_things::backend::memory::ids::SeededIds;
use rat_things::backend::memory::secrets::MemorySecrets;
use rat_things::backend::memory::store::Fault;
use rat_things::engine::check::OwnerFacts;
use rat_things::engine::chores::UNNAMED_MS;
use rat_things::engine::core::{Core, Settings};
use rat_things::engine::error::EngineError;
use rat_things::engine::files::NewFile;
use rat_things::engine::keys;
use rat_things::engine::ports::StoreError;
use rat_things::engine::read::ListQuery;
use serde_json::json;

use super::world::OWNER;

/// What goes wrong with the n-th commit from some moment on.
#[derive(Default)]
struct Trouble {
    at: AtomicUsize,
    seen: AtomicUsize,
    /// The program ends there: no later commit happens either. Otherwise only that commit's answer is lost.
    ends: AtomicBool,
}

impl Trouble {
    fn fault(&self) -> Fault {
        let seen = self.seen.fetch_add(1, Ordering::SeqCst) + 1;
        let at = self.at.load(Ordering::SeqCst);
        match self.ends.load(Ordering::SeqCst) {
            true if at > 0 && seen >= at => {
                Fault::FailBefore(StoreError::Unavailable("it ended".into()))
            }
            false if seen == at => Fault::ApplyThenUnknown,
            _ => Fault::None,
        }
    }

    fn begin(&self, at: usize, ends: bool) {
        self.ends.store(ends, Ordering::SeqCst);
        self.seen.store(0, Ordering::SeqCst);
        self.at.store(at, Ordering::SeqCst);
    }
}

/// An engine in memory without Sessions.
pub struct Keeper {
    pub core: Core,
    pub clock: Arc<ManualClock>,
    store: Arc<MemoryStore>,
    blobs: Arc<MemoryBlobs>,
    secrets: Arc<MemorySecrets>,
    trouble: Arc<Trouble>,
}

impl Keeper {
    pub fn new() -> Keeper {
        let trouble = Arc::new(Trouble::default());
        let faults = Arc::clone(&trouble);
        let store = Arc::new(MemoryStore::with_faults(Box::new(move |_| faults.fault())));
        let blobs = Arc::new(MemoryBlobs::new());
        let secrets = Arc::new(MemorySecrets::new());
        let clock = Arc::new(ManualClock::default());
        let core = Core {
            store: store.clone(),
            blobs: blobs.clone(),
            secrets: secrets.clone(),
            clock: clock.clone(),
            ids: Arc::new(SeededIds::new(5)),
            bell: Arc::new(MemoryBell::new()),
            settings: Settings::default(),
        };
        Keeper {
            core,
            clock,
            store,
            blobs,
            secrets,
            trouble,
        }
    }

    /// A day later everything is erased that is not named, and nothing else.
    async fn assert_tidy(&self) {
        self.trouble.begin(0, false);
        // What was done halfway may take a second look.
        for _ in 0..2 {
            self.clock.advance(UNNAMED_MS + 1);
            self.core.do_chores().await.expect("reads");
        }
        let mut facts = OwnerFacts::new();
        let mut expiries = Vec::new();
        for record in self.store.records() {
            let partition = record.key.partition.as_str();
            if partition == keys::CHORES {
                let expiry = record.key.sort.split_once("/file/").map(|(_, id)| id);
                expiries.push(expiry.expect("nothing is left to erase").to_owned());
                continue;
            }
            assert_eq!(partition, keys::owner_partition(OWNER));
            facts.take(&record);
        }
        assert_eq!(facts.findings(OWNER), []);
        // A file that is there may expire later.
        for id in expiries {
            assert!(facts.scopes().any(|(_, named)| named.scope == id), "{id}");
        }
        let named = facts.scopes().flat_map(|(_, named)| &named.blobs);
        let named_bytes: u64 = named.map(|blob| blob.size_bytes).sum();
        assert_eq!(self.blobs.stored_bytes(), named_bytes);
        let sealed = facts.scopes().map(|(_, named)| named.sealed);
        assert_eq!(self.secrets.count(), sealed.sum::<usize>());
    }
}

/// Does something in a world of its own, with trouble at each of its commits in turn; afterwards everything is tidy.
pub async fn survives<P>(
    prepare: impl AsyncFn(&Core) -> P,
    act: impl AsyncFn(&Core, P) -> Result<(), EngineError>,
) {
    for ends in [true, false] {
        let mut at = 1;
        loop {
            let keeper = Keeper::new();
            let prepared = prepare(&keeper.core).await;
            keeper.trouble.begin(at, ends);
            let done = act(&keeper.core, prepared).await;
            let commits = keeper.trouble.seen.load(Ordering::SeqCst);
            if !ends {
                assert_eq!(done, Ok(()), "a lost answer is found out, at {at}");
            }
            keeper.assert_tidy().await;
            if commits < at {
                assert!(at > 1, "nothing was committed");
                break;
            }
            at += 1;
        }
    }
}

async fn upload(
    core: &Core,
    text: &str,
    expires_after_s: Option<u64>,
) -> Result<String, EngineError> {
    let upload = core.begin_upload(OWNER).await?;
    let from = Box::new(std::io::Cursor::new(text.to_owned()));
    let blob = core.upload_bytes(&upload, from, 1_000).await?;
    let file = NewFile {
        filename: "a.txt".into(),
        purpose: FilePurpose::UserData,
        expires_after_s,
    };
    Ok(core.end_upload(OWNER, &upload, blob, file).await?.id)
}

async fn listed(core: &Core) -> Vec<String> {
    let page = core.list_files(OWNER, &ListQuery::default(), None).await;
    page.expect("lists")
        .data
        .into_iter()
        .map(|file| file.id)
        .collect()
}

#[tokio::test(start_paused = true)]
pub async fn an_upload_that_ends_at_any_moment_leaves_a_file_or_nothing() {
    survives(
        async |_| (),
        async |core, ()| upload(core, "some bytes", None).await.map(drop),
    )
    .await;
}

#[tokio::test(start_paused = true)]
pub async fn a_deletion_that_ends_at_any_moment_leaves_a_file_or_nothing() {
    for expires_after_s in [None, Some(3_600 * 24 * 20)] {
        survives(
            async |core| {
                upload(core, "some bytes", expires_after_s)
                    .await
                    .expect("uploads")
            },
            async |core, id| core.delete_file(OWNER, &id).await,
        )
        .await;
    }
}

#[tokio::test(start_paused = true)]
pub async fn an_upload_that_is_given_up_leaves_nothing() {
    let keeper = Keeper::new();
    let begun = keeper.core.begin_upload(OWNER).await.expect("begins");
    let from = Box::new(std::io::Cursor::new("bytes"));
    let put = keeper.core.upload_bytes(&begun, from, 1_000).await;
    let blob = put.expect("stored");
    keeper.core.give_up_upload(&begun).await;
    assert_eq!(keeper.blobs.stored_bytes(), 0);
    let file = NewFile {
        filename: "late".into(),
        purpose: FilePurpose::UserData,
        expires_after_s: None,
    };
    let late = keeper.core.end_upload(OWNER, &begun, blob, file).await;
    assert!(late.is_err(), "{late:?}");
    keeper.assert_tidy().await;
}

#[tokio::test(start_paused = true)]
pub async fn an_upload_that_took_longer_than_a_day_becomes_no_file_without_bytes() {
    let keeper = Keeper::new();
    let begun = keeper.core.begin_upload(OWNER).await.expect("begins");
    let from = Box::new(std::io::Cursor::new("bytes"));
    let put = keeper.core.upload_bytes(&begun, from, 1_000).await;
    let blob = put.expect("stored");
    keeper.clock.advance(UNNAMED_MS);
    keeper.core.do_chores().await.expect("does");
    let file = NewFile {
        filename: "late".into(),
        purpose: FilePurpose::UserData,
        expires_after_s: None,
    };
    let late = keeper.core.end_upload(OWNER, &begun, blob, file).await;
    assert!(late.is_err(), "{late:?}");
    assert_eq!(listed(&keeper.core).await, Vec::<String>::new());
    keeper.assert_tidy().await;
}

#[tokio::test(start_paused = true)]
pub async fn an_expired_file_is_gone_at_once_and_erased_when_somebody_looks() {
    let keeper = Keeper::new();
    let core = &keeper.core;
    let brief = upload(core, "brief", Some(3_600)).await.expect("uploads");
    let lasting = upload(core, "lasting", None).await.expect("uploads");
    keeper.clock.advance(3_599_000);
    assert_eq!(listed(core).await.len(), 2);
    keeper.clock.advance(1_000);
    assert_eq!(listed(core).await, std::slice::from_ref(&lasting));
    let missing = EngineError::not_found("file", brief.as_str());
    assert_eq!(
        core.file(OWNER, &brief).await.map(drop),
        Err(missing.clone())
    );
    assert_eq!(core.delete_file(OWNER, &brief).await, Err(missing));
    let before = keeper.blobs.stored_bytes();
    core.do_chores().await.expect("does");
    core.do_chores().await.expect("does");
    assert_eq!(keeper.blobs.stored_bytes(), before - 5);
    keeper.assert_tidy().await;
    assert_eq!(listed(core).await, [lasting]);
}

#[tokio::test(start_paused = true)]
pub async fn pages_of_files_go_on_behind_any_file() {
    let keeper = Keeper::new();
    let mut ids = Vec::new();
    for n in 0..7 {
        ids.push(
            upload(&keeper.core, &format!("{n}"), None)
                .await
                .expect("uploads"),
        );
        keeper.clock.advance(1);
    }
    ids.reverse();
    for (at, id) in ids.iter().enumerate() {
        let query = ListQuery {
            limit: 3,
            after: Some(id.clone()),
            ascending: false,
        };
        let page = keeper
            .core
            .list_files(OWNER, &query, None)
            .await
            .expect("lists");
        let found: Vec<&String> = page.data.iter().map(|file| &file.id).collect();
        let rest = &ids[at + 1..];
        assert_eq!(found, rest.iter().take(3).collect::<Vec<_>>());
        assert_eq!(page.has_more, rest.len() > 3);
    }
}

async fn vault(core: &Core) -> String {
    let made = core.create_vault(OWNER, VaultCreateParams::default()).await;
    made.expect("makes").id
}

fn bearer(name: &str) -> CredentialCreateParams {
    let body = json!({"name": name, "auth": {"type": "static_bearer", "token": "t0ken", "mcp_server_url": "https://m.example.org"}});
    parse_credential_create(body.to_string().as_bytes()).expect("valid")
}

async fn vault_with(core: &Core, credentials: usize) -> (String, Vec<String>) {
    let vault = vault(core).await;
    let mut ids = Vec::new();
    for n in 0..credentials {
        let made = core
            .create_credential(OWNER, &vault, bearer(&n.to_string()))
            .await;
        ids.push(made.expect("makes").id);
    }
    (vault, ids)
}

#[tokio::test(start_paused = true)]
pub async fn whatever_is_done_with_credentials_leaves_no_secret_that_nobody_names() {
    survives(
        async |core| vault(core).await,
        async |core, vault| {
            core.create_credential(OWNER, &vault, bearer("n"))
                .await
                .map(drop)
        },
    )
    .await;
    survives(
        async |core| vault_with(core, 1).await,
        async |core, (vault, ids)| {
            let body = json!({"auth": {"type": "static_bearer", "token": "new"}});
            let params = parse_credential_update(body.to_string().as_bytes()).expect("valid");
            core.update_credential(OWNER, &vault, &ids[0], params)
                .await
                .map(drop)
        },
    )
    .await;
    survives(
        async |core| vault_with(core, 1).await,
        async |core, (vault, ids)| core.delete_credential(OWNER, &vault, &ids[0]).await,
    )
    .await;
    // More than one commit removes.
    survives(
        async |core| vault_with(core, 20).await.0,
        async |core, vault| core.delete_vault(OWNER, &vault).await,
    )
    .await;
}

#[tokio::test(start_paused = true)]
pub async fn a_secret_that_can_not_be_sealed_makes_no_credential() {
    let keeper = Keeper::new();
    let (vault, ids) = vault_with(&keeper.core, 1).await;
    keeper.secrets.be_away(true);
    let made = keeper
        .core
        .create_credential(OWNER, &vault, bearer("n"))
        .await;
    assert!(matches!(made, Err(EngineError::Unavailable(_))), "{made:?}");
    keeper.secrets.be_away(false);
    let page = keeper
        .core
        .list_credentials(OWNER, &vault, &ListQuery::default(), &Metadata::new())
        .await;
    let listed: Vec<String> = page
        .expect("lists")
        .data
        .into_iter()
        .map(|c| c.id)
        .collect();
    assert_eq!(listed, ids);
    keeper.assert_tidy().await;
}

fn template(body: serde_json::Value) -> TemplateCreateParams {
    parse_template_create(body.to_string().as_bytes()).expect("valid")
}

async fn made_template(core: &Core) -> String {
    let body = json!({"env": {"A": "secret"}, "files": [{"type": "inline", "data": "YWJj", "path": "/workspace/a"}]});
    core.create_template(OWNER, template(body))
        .await
        .expect("makes")
        .id
}

#[tokio::test(start_paused = true)]
pub async fn whatever_is_done_with_templates_leaves_nothing_that_nobody_names() {
    survives(
        async |_| (),
        async |core, ()| {
            let body = json!({"env": {"A": "secret"}, "files": [{"type": "inline", "data": "YWJj", "path": "/workspace/a"}]});
            core.create_template(OWNER, template(body)).await.map(drop)
        },
    )
    .await;
    for change in [
        json!({"env": {"B": "other"}}),
        json!({"env": null}),
        json!({"files": []}),
        json!({"env": null, "files": null}),
        json!({"name": "n"}),
    ] {
        survives(
            async |core| made_template(core).await,
            async |core, id| {
                let params = parse_template_update(change.to_string().as_bytes()).expect("valid");
                core.update_template(OWNER, &id, params).await.map(drop)
            },
        )
        .await;
    }
    survives(
        async |core| made_template(core).await,
        async |core, id| core.delete_template(OWNER, &id).await,
    )
    .await;
}
