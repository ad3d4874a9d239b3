//! Files that an environment has from its beginning.

use std::sync::{Arc, Mutex};

use rat_things::api::{FilePurpose, parse_template_create};
use rat_things::backend::memory::environments::Scripted;
use rat_things::engine::core::Core;
use rat_things::engine::error::EngineError;
use rat_things::engine::files::NewFile;
use serde_json::{Value, json};

use super::world::{OWNER, World, managed};

type Seen = Arc<Mutex<Vec<Vec<(String, String)>>>>;

/// A world in which it is noted which files there are when a command begins.
fn world() -> (World, Seen) {
    let seen = Seen::default();
    let noted = Arc::clone(&seen);
    let world = World::with(move |_, files| {
        let now = files.iter().map(|(path, content)| {
            let text = String::from_utf8_lossy(content).into_owned();
            (path.clone(), text)
        });
        noted.lock().expect("no panic").push(now.collect());
        files.insert("/workspace/made".into(), "by a command".into());
        Scripted::ok("")
    });
    (world, seen)
}

fn with_files(files: Value) -> Value {
    let mut request = managed("@exec true");
    request["environment"]["files"] = files;
    request
}

async fn upload(core: &Core, text: &str, purpose: FilePurpose) -> String {
    let upload = core.begin_upload(OWNER).await.expect("begins");
    let from = Box::new(std::io::Cursor::new(text.to_owned()));
    let blob = core
        .upload_bytes(&upload, from, 1_000)
        .await
        .expect("stored");
    let file = NewFile {
        filename: "a".into(),
        purpose,
        expires_after_s: None,
    };
    core.end_upload(OWNER, &upload, blob, file)
        .await
        .expect("made")
        .id
}

fn pairs(files: &[(&str, &str)]) -> Vec<(String, String)> {
    let owned = files
        .iter()
        .map(|(path, text)| ((*path).to_owned(), (*text).to_owned()));
    owned.collect()
}

#[tokio::test(start_paused = true)]
pub async fn they_are_there_before_the_first_command_and_again_when_the_workspace_was_lost() {
    let (world, seen) = world();
    let uploaded = upload(&world.core, "uploaded", FilePurpose::UserData).await;
    let session = world
        .create(with_files(json!([
            {"type": "inline", "data": "aW5saW5l", "path": "/workspace/in/line"},
            {"type": "file_id", "file_id": uploaded, "path": "/workspace/up"},
        ])))
        .await;
    // What happens to the uploaded file afterwards changes nothing.
    world
        .core
        .delete_file(OWNER, &uploaded)
        .await
        .expect("deleted");
    world.settled(&session).await;
    let start = [
        ("/workspace/in/line", "inline"),
        ("/workspace/up", "uploaded"),
    ];
    assert_eq!(*seen.lock().expect("no panic"), [pairs(&start)]);
    world.sound();

    // A command's files stay, and what is there is not put again.
    let environment = world
        .read(&session)
        .await
        .config
        .environment
        .expect("managed")
        .id;
    world
        .environments
        .write(&environment, "/workspace/up", "changed");
    world.environments.lose(&environment);
    world.say(&session, "a", "@exec true").await;
    world.settled(&session).await;
    let now = [
        ("/workspace/in/line", "inline"),
        ("/workspace/made", "by a command"),
        ("/workspace/up", "changed"),
    ];
    assert_eq!(seen.lock().expect("no panic").last(), Some(&pairs(&now)));

    // The whole workspace is lost.
    use rat_things::engine::ports::Environments;
    world
        .environments
        .remove(&environment)
        .await
        .expect("removed");
    world.say(&session, "b", "@exec true").await;
    world.settled(&session).await;
    assert_eq!(seen.lock().expect("no panic").last(), Some(&pairs(&start)));
    world.sound();
    let shown = world
        .core
        .get_session(OWNER, &session)
        .await
        .expect("is there");
    let shown = serde_json::to_value(shown).expect("serialises");
    let files = &shown["environment"]["files"];
    assert_eq!(
        *files,
        json!([
            {"type": "inline", "id": files[0]["id"], "path": "/workspace/in/line", "size_bytes": 6},
            {"type": "file_id", "id": files[1]["id"], "file_id": uploaded, "path": "/workspace/up", "size_bytes": 8},
        ])
    );
}

#[tokio::test(start_paused = true)]
pub async fn files_that_can_not_be_copied_are_refused_and_make_no_session() {
    let (world, _) = world();
    let batch = upload(&world.core, "x", FilePurpose::Batch).await;
    let unknown = format!("file_{}", "a".repeat(26));
    let file = |id: &str| json!([{"type": "file_id", "file_id": id, "path": "/workspace/a"}]);
    let refused = world.try_create(with_files(file(&batch))).await;
    let Err(EngineError::Invalid { param, .. }) = refused else {
        panic!("{refused:?}");
    };
    assert_eq!(param.as_deref(), Some("environment.files[0].file_id"));
    let refused = world.try_create(with_files(file(&unknown))).await;
    assert_eq!(refused, Err(EngineError::not_found("file", unknown)));
}

#[tokio::test(start_paused = true)]
pub async fn a_template_gives_files_variables_and_the_most_that_can_be_reached() {
    let (world, seen) = world();
    let body = json!({
        "env": {"A": "template", "B": "template"},
        "files": [
            {"type": "inline", "data": "b25l", "path": "/workspace/one"},
            {"type": "inline", "data": "dHdv", "path": "/workspace/two"},
        ],
        "network": {"access": "restricted", "allowed_domains": ["a.example.org", "b.example.org"]},
    });
    let params = parse_template_create(body.to_string().as_bytes()).expect("valid");
    let template = world
        .core
        .create_template(OWNER, params)
        .await
        .expect("made")
        .id;
    let request = |environment: Value| {
        let mut request = managed("@exec true");
        for (name, value) in environment.as_object().expect("an object") {
            request["environment"][name] = value.clone();
        }
        request["environment"]["environment_template_id"] = json!(template);
        request
    };
    let session = world
        .create(request(json!({
            "env": {"B": "session"},
            "files": [{"type": "inline", "data": "bmV3", "path": "/workspace/two"}],
            "network": {"access": "restricted", "allowed_domains": ["b.example.org"]},
        })))
        .await;
    // A template that is gone changes nothing about what was made from it.
    world
        .core
        .delete_template(OWNER, &template)
        .await
        .expect("deleted");
    world.settled(&session).await;
    let there = pairs(&[("/workspace/one", "one"), ("/workspace/two", "new")]);
    assert_eq!(*seen.lock().expect("no panic"), [there]);
    let spec = world.environments.opened_with().pop().expect("was opened");
    let env: Vec<(&str, &str)> = spec
        .env
        .iter()
        .map(|(k, v)| (k.as_str(), v.as_str()))
        .collect();
    assert_eq!(env, [("A", "template"), ("B", "session")]);
    world.sound();

    let params = parse_template_create(body.to_string().as_bytes()).expect("valid");
    let template = world
        .core
        .create_template(OWNER, params)
        .await
        .expect("made")
        .id;
    let request = |network: Value| {
        let mut request = managed("@exec true");
        request["environment"]["environment_template_id"] = json!(template);
        request["environment"]["network"] = network;
        request
    };
    for network in [
        json!({"access": "enabled"}),
        json!({"access": "restricted", "allowed_domains": ["a.example.org", "c.example.org"]}),
    ] {
        let refused = world.try_create(request(network)).await;
        assert!(
            matches!(refused, Err(EngineError::Invalid { .. })),
            "{refused:?}"
        );
    }
    world.create(request(json!({"access": "disabled"}))).await;
    let mut request = managed("@exec true");
    let unknown = format!("tmpl_{}", "a".repeat(26));
    request["environment"]["environment_template_id"] = json!(unknown);
    let refused = world.try_create(request).await;
    assert_eq!(refused, Err(EngineError::not_found("template", unknown)));
}
