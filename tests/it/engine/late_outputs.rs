//! Outputs that appear while no command runs: made by what an earlier Turn left behind.

use pretty_assertions::assert_eq;
use rat_things::engine::ids::SessionId;

use super::world::{World, managed};

const LATE: &str = "/workspace/outputs/late";

/// A Session whose first Turn ran a command, and its environment's id.
async fn begun(world: &World) -> (SessionId, String) {
    let session = world.create(managed("@exec server &")).await;
    world.settled(&session).await;
    let read = world.read(&session).await;
    let environment = read.config.environment.expect("managed");
    (session, environment.id)
}

/// Commits that a Turn without commands takes, its acceptance included.
async fn trivial_turn(world: &World, session: &SessionId, key: &str) -> u64 {
    world.at_rest().await;
    let before = world.read(session).await.head.revision;
    world.say(session, key, "@say nothing").await;
    world.settled(session).await;
    world.sound();
    world.read(session).await.head.revision - before
}

#[tokio::test(start_paused = true)]
pub async fn a_turn_that_runs_nothing_keeps_what_was_made_since_the_last_one() {
    let world = World::new();
    let (session, environment) = begun(&world).await;
    let commits = trivial_turn(&world, &session, "a").await;
    assert_eq!(world.artifacts(&session).await, Vec::<String>::new());
    world
        .environments
        .write(&environment, LATE, "made in between");
    assert_eq!(trivial_turn(&world, &session, "b").await, commits);
    assert_eq!(world.artifacts(&session).await, [LATE]);
    // Nothing has changed since: the next Turn has no outputs of its own.
    assert_eq!(trivial_turn(&world, &session, "c").await, commits);
    assert_eq!(world.artifacts(&session).await, [LATE]);
}

#[tokio::test(start_paused = true)]
pub async fn no_environment_is_opened_to_look() {
    let world = World::new();
    let (session, environment) = begun(&world).await;
    world.environments.lose_all();
    world
        .environments
        .write(&environment, LATE, "nobody lives there");
    trivial_turn(&world, &session, "a").await;
    assert_eq!(world.artifacts(&session).await, Vec::<String>::new());
    // It is found when somebody has to go there.
    world.say(&session, "b", "@exec true").await;
    world.settled(&session).await;
    assert_eq!(world.artifacts(&session).await, [LATE]);
}
