//! Artifacts that are deleted: gone at once, and their bytes once nothing names them.

use std::time::Duration;

use rat_things::engine::error::EngineError;
use rat_things::engine::ids::SessionId;
use rat_things::engine::read::ListQuery;

use super::world::{OWNER, World, managed};

/// A Session of which each of two Turns left a file with the same content, and their Artifacts' ids.
async fn twice_the_same(world: &World) -> (SessionId, Vec<String>) {
    let session = world.create(managed("@exec true")).await;
    world.settled(&session).await;
    let environment = world.read(&session).await.config.environment;
    let environment = environment.expect("managed").id;
    for name in ["a", "b"] {
        let path = format!("/workspace/outputs/{name}");
        world
            .environments
            .write(&environment, &path, "the same bytes");
        world.say(&session, name, "@exec true").await;
        world.settled(&session).await;
    }
    let read = world.read(&session).await;
    let query = ListQuery::default();
    let page = world.core.list_artifacts(&read, None, &query);
    let ids = page.await.expect("lists").data.into_iter().map(|a| a.id);
    (session, ids.collect())
}

#[tokio::test(start_paused = true)]
pub async fn bytes_go_with_the_last_artifact_that_has_them() {
    let world = World::new();
    let (session, ids) = twice_the_same(&world).await;
    assert!(ids.len() >= 2, "{ids:?}");
    let read = world.read(&session).await;
    let (_, row) = world
        .core
        .get_artifact(&read, &ids[0])
        .await
        .expect("is there");
    // Nobody has to look for work while hours pass.
    world.stop_dispatching();
    let scope = world.core.scope(OWNER, &session);
    let query = ListQuery::default();
    for (n, id) in ids.iter().enumerate() {
        assert_eq!(world.blobs.has(&scope, &row.blob).await, Ok(true));
        let deleted = world.core.delete_artifact(OWNER, &session, id).await;
        assert_eq!(deleted, Ok(()));
        let missing = EngineError::not_found("artifact", id.as_str());
        let again = world.core.delete_artifact(OWNER, &session, id).await;
        assert_eq!(again, Err(missing.clone()));
        let read = world.read(&session).await;
        assert_eq!(
            world.core.get_artifact(&read, id).await.map(drop),
            Err(missing)
        );
        let left = world.core.list_artifacts(&read, None, &query);
        let left: Vec<String> = left
            .await
            .expect("lists")
            .data
            .into_iter()
            .map(|a| a.id)
            .collect();
        assert_eq!(left, &ids[n + 1..]);
        world.sound();
        tokio::time::sleep(Duration::from_secs(3 * 3_600)).await;
        world.core.do_chores().await.expect("does");
        world.sound();
    }
    assert_eq!(world.blobs.has(&scope, &row.blob).await, Ok(false));
    // The Session works on.
    world.start_dispatching();
    world.say(&session, "after", "@exec true").await;
    world.settled(&session).await;
    world.sound();
}

#[tokio::test(start_paused = true)]
pub async fn nobody_else_deletes_an_artifact() {
    let world = World::new();
    let (session, ids) = twice_the_same(&world).await;
    let other = "fedcba9876543210fedcba9876543210";
    let deleted = world.core.delete_artifact(other, &session, &ids[0]).await;
    let missing = EngineError::not_found("session", session.as_str());
    assert_eq!(deleted, Err(missing));
    let read = world.read(&session).await;
    assert!(world.core.get_artifact(&read, &ids[0]).await.is_ok());
}
