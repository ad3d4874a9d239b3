//! The engine over an account of the emulators, in this process.

use std::sync::Arc;

use rat_things::backend::aws::blobs::S3Blobs;
use rat_things::backend::aws::client::{AwsClients, AwsOptions};
use rat_things::backend::aws::secrets::ManagedSecrets;
use rat_things::backend::aws::store::{DynamoStore, Places};
use rat_things::backend::local::clock::SystemClock;
use rat_things::backend::local::ids::SystemIds;
use rat_things::backend::memory::bell::MemoryBell;
use rat_things::engine::core::{Core, Settings};

/// The engine as a program has it that shares nothing with any other but the account: nobody hears it ring.
pub(super) async fn core(options: &AwsOptions, places: &Places) -> Core {
    let clients = AwsClients::connect(options).await.expect("a region");
    Core {
        store: Arc::new(DynamoStore::new(&clients, places)),
        blobs: Arc::new(S3Blobs::new(&clients, places)),
        secrets: Arc::new(ManagedSecrets::new(&clients, &places.table, &places.bucket)),
        clock: Arc::new(SystemClock),
        ids: Arc::new(SystemIds),
        bell: Arc::new(MemoryBell::new()),
        settings: Settings::default(),
    }
}

/// What clients ask for, with nothing in the way.
pub(super) mod plain {
    use rat_things::api::{InputEvent, InputMessage, MessageInput, parse_session_create};
    use rat_things::engine::core::Core;
    use rat_things::engine::ids::SessionId;
    use serde_json::json;

    /// A Session with an environment and a message.
    pub(in super::super) async fn create(core: &Core, owner: &str, text: &str) -> SessionId {
        with(core, owner, "openai_hosted", text).await
    }

    /// A Session without an environment, and with a message.
    pub(in super::super) async fn talk(core: &Core, owner: &str, text: &str) -> SessionId {
        with(core, owner, "none", text).await
    }

    async fn with(core: &Core, owner: &str, environment: &str, text: &str) -> SessionId {
        let request = json!({
            "agent": { "model": "demo" },
            "environment": { "type": environment },
            "input": text,
        });
        let params = parse_session_create(request.to_string().as_bytes()).expect("a request");
        let created = core.create_session(owner, None, &params).await;
        created.expect("a session").session
    }

    /// A message under a key.
    pub(in super::super) async fn send(
        core: &Core,
        owner: &str,
        session: &SessionId,
        key: &str,
        text: &str,
    ) {
        let events = [InputEvent::Message(MessageInput {
            input: vec![InputMessage::text(text)],
            delivery: None,
        })];
        core.send(owner, session, key, &events)
            .await
            .expect("accepted");
    }
}
