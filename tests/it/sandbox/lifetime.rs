//! Who holds an environment, how its processes end, and what is left when the engine does.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::time::Duration;

use rat_things::engine::ports::{
    EnvironmentError, EnvironmentSpec, Environments, ExecHow, Isolation, Network,
};

use super::world::{Sandbox, World, eventually, processes_with, shell, spec};

/// Tells the test below to hold an environment: its id and the directory of the world.
const HOLD: &str = "RAT_THINGS_TEST_HOLD";

/// Children that nothing but the end of the namespace ends.
fn stubborn(mark: &str) -> String {
    format!(
        "for i in $(seq 8); do
            setsid sleep {mark} & nohup sleep {mark} >/dev/null 2>&1 &
            (trap '' TERM HUP INT; exec sleep {mark}) & (setsid sh -c '(sleep {mark} &)' &)
        done"
    )
}

/// A duration that no other process sleeps for.
fn mark() -> String {
    use rat_things::engine::ports::Ids;
    let mut bytes = [0; 4];
    super::world::Random.fill(&mut bytes);
    format!("86399.{:010}", u32::from_ne_bytes(bytes))
}

/// The same for both processes that know the environment's id. `sleep` takes digits only.
fn mark_of(id: &str) -> String {
    let digits: String = id[4..].bytes().map(|b| char::from(b'0' + b % 10)).collect();
    format!("86398.{digits}")
}

/// Not a test by itself: the process that others kill. Without the variable it does nothing.
#[tokio::test]
async fn holder() {
    let Ok(hold) = std::env::var(HOLD) else {
        return;
    };
    let words: Vec<&str> = hold.splitn(3, ' ').collect();
    let [isolation, id, root] = words[..] else {
        panic!("isolation, id and directory")
    };
    let mut spec = spec(Network::Disabled);
    spec.id = id.to_owned();
    if isolation == "bare" {
        spec.isolation = Isolation::UnsafeNone;
    }
    let world = World::at(Path::new(root));
    let sandbox = world.open(&spec).await;
    sandbox
        .ok(&format!("{}; touch ready", stubborn(&mark_of(id))))
        .await;
    let mut busy = sandbox.begin(shell("echo busy; sleep 86399"));
    busy.says("busy").await;
    busy.end().await;
}

/// Another engine that holds the environment `id` of `world`.
struct Engine(Child);

impl Engine {
    fn start(world: &World, id: &str) -> Engine {
        Engine::start_with("sandbox", world, id)
    }

    fn start_with(isolation: &str, world: &World, id: &str) -> Engine {
        let child = super::world::this_test_binary()
            .args(["--exact", "sandbox::lifetime::holder"])
            .env(HOLD, format!("{isolation} {id} {}", world.root().display()))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        Engine(child.expect("starts"))
    }

    fn kill(mut self) {
        self.0.kill().expect("killed");
        self.0.wait().expect("reaped");
    }
}

fn workspace_file(world: &World, id: &str, name: &str) -> std::path::PathBuf {
    world.root().join(id).join("workspace").join(name)
}

#[tokio::test]
async fn everything_ends_with_the_engine() {
    let world = World::new();
    for _ in 0..3 {
        let id = spec(Network::Disabled).id;
        let engine = Engine::start(&world, &id);
        let ready = workspace_file(&world, &id, "ready");
        eventually("the other engine is ready", || ready.exists()).await;
        assert!(processes_with(&mark_of(&id)).len() >= 25);
        engine.kill();
        // Whoever gets the lock finds nobody.
        let mut same = spec(Network::Disabled);
        same.id = id.clone();
        let taken_over = world.open(&same).await;
        assert_eq!(processes_with(&mark_of(&id)), Vec::<String>::new());
        assert_eq!(taken_over.ok("ls").await, "outputs\nready");
        taken_over.environment.close().await;
        assert_eq!(processes_with(&id), Vec::<String>::new());
    }
}

#[tokio::test]
async fn without_a_sandbox_everything_ends_with_the_engine_too() {
    let world = World::new();
    let id = spec(Network::Disabled).id;
    let engine = Engine::start_with("bare", &world, &id);
    let ready = workspace_file(&world, &id, "ready");
    eventually("the other engine is ready", || ready.exists()).await;
    let mark = mark_of(&id);
    assert!(processes_with(&mark).len() >= 25);
    engine.kill();
    let mut same = spec(Network::Disabled);
    same.id = id;
    let taken_over = world.open(&same).await;
    assert_eq!(processes_with(&mark), Vec::<String>::new());
    assert_eq!(taken_over.ok("ls").await, "outputs\nready");
}

#[tokio::test]
async fn nothing_is_left_of_an_engine_that_is_killed_while_it_starts_one() {
    let world = World::new();
    for round in 0..25 {
        let id = spec(Network::Disabled).id;
        let engine = Engine::start(&world, &id);
        // From the moment its directory appears on, over the milliseconds that a start takes.
        eventually("it begins", || workspace_file(&world, &id, "").exists()).await;
        tokio::time::sleep(Duration::from_millis(2 * round)).await;
        engine.kill();
        eventually("all of it ends", || processes_with(&id).is_empty()).await;
    }
}

#[tokio::test]
async fn a_second_process_waits_and_then_says_who_is_in_the_way() {
    let world = World::with(|config| config.lock_wait_ms = 200);
    let id = spec(Network::Disabled).id;
    let engine = Engine::start(&world, &id);
    let ready = workspace_file(&world, &id, "ready");
    eventually("the other engine is ready", || ready.exists()).await;
    let mut same = spec(Network::Disabled);
    same.id = id.clone();
    let refused = world.environments.open(&same).await.err();
    let message = format!("another process holds {id} (waited 200 ms)");
    assert_eq!(refused, Some(EnvironmentError::Failed(message)));
    let refused = world.environments.remove(&id).await.err();
    let message = format!("another process holds {id} (waited 200 ms); nothing was removed");
    assert_eq!(refused, Some(EnvironmentError::Failed(message)));
    engine.kill();
    eventually("the holder is gone", || processes_with(&id).is_empty()).await;
    assert_eq!(world.open(&same).await.ok("ls").await, "outputs\nready");
}

#[tokio::test]
async fn opening_again_gives_the_same_environment_until_it_is_closed() {
    let world = World::new();
    let spec = spec(Network::Disabled);
    let first = world.environments.open(&spec).await.expect("opens");
    assert!((first.created, first.warm) == (true, false));
    let second = world.environments.open(&spec).await.expect("opens");
    assert!((second.created, second.warm) == (false, true));
    assert!(Arc::ptr_eq(&first.environment, &second.environment));
    first.environment.close().await;
    let third = world.environments.open(&spec).await.expect("opens");
    assert!((third.created, third.warm) == (false, false));
    // Another policy is another sandbox over the same files.
    let other = EnvironmentSpec {
        network: Network::Enabled,
        ..spec
    };
    let fourth = world.environments.open(&other).await.expect("opens");
    assert!((fourth.created, fourth.warm) == (false, false));
}

#[tokio::test]
async fn when_close_returns_everything_is_gone() {
    let world = World::new();
    for _ in 0..3 {
        let sandbox = world.sandbox().await;
        let mark = mark();
        sandbox.ok(&stubborn(&mark)).await;
        assert!(processes_with(&mark).len() >= 25);
        sandbox.environment.close().await;
        assert_eq!(processes_with(&mark), Vec::<String>::new());
        assert_eq!(processes_with(&sandbox.id), Vec::<String>::new());
        let (live, _) = tokio::sync::mpsc::channel(1);
        let (_never, cancel) = tokio::sync::watch::channel(false);
        let refused = sandbox.environment.exec(shell("true"), live, cancel).await;
        assert_eq!(
            refused,
            Err(EnvironmentError::Failed("it is closed".to_owned()))
        );
    }
}

#[tokio::test]
async fn an_environment_that_nobody_has_any_more_ends() {
    let world = World::new();
    let sandbox = world.sandbox().await;
    sandbox.ok("true").await;
    let Sandbox {
        id, environment, ..
    } = sandbox;
    drop(environment);
    drop(world);
    eventually("it ends", || processes_with(&id).is_empty()).await;
}

async fn cancelled(sandbox: &Sandbox, script: &str, mark: &str) {
    let mut begun = sandbox.begin(shell(&format!("{script}\necho begun; sleep {mark}")));
    begun.says("begun").await;
    begun.cancel.send(true).expect("somebody listens");
    assert_eq!(begun.end().await.how, ExecHow::Cancelled);
    assert_eq!(processes_with(mark), Vec::<String>::new(), "{script}");
}

#[tokio::test]
async fn cancel_ends_the_whole_tree_and_nothing_else() {
    let world = World::new();
    let sandbox = world.sandbox().await;
    sandbox
        .ok("(while sleep 0.05; do date +%s%N > /tmp/beat; done) & echo $! > /tmp/pid")
        .await;
    for _ in 0..3 {
        let mark = mark();
        cancelled(&sandbox, &stubborn(&mark), &mark).await;
        let mark = self::mark();
        cancelled(
            &sandbox,
            &format!("kill -9 $PPID; {}", stubborn(&mark)),
            &mark,
        )
        .await;
        let mark = self::mark();
        cancelled(
            &sandbox,
            &format!("kill -STOP $PPID; {}", stubborn(&mark)),
            &mark,
        )
        .await;
    }
    let alive = "kill -0 $(cat /tmp/pid) && rm -f /tmp/beat && while [ ! -e /tmp/beat ]; do sleep 0.02; done; echo alive";
    assert_eq!(sandbox.ok(alive).await, "alive");
}

#[tokio::test]
async fn time_over_ends_the_whole_tree() {
    let world = World::new();
    let sandbox = world.sandbox().await;
    let mark = mark();
    let mut late = shell(&format!("{}; sleep {mark}", stubborn(&mark)));
    late.timeout_ms = 700;
    assert_eq!(sandbox.exec(late).await.how, ExecHow::TimedOut);
    assert_eq!(processes_with(&mark), Vec::<String>::new());
}

#[tokio::test]
async fn a_fork_bomb_is_ended() {
    let world = World::with(|config| config.limits.processes = 150);
    let sandbox = world.sandbox().await;
    let mut begun = sandbox.begin(shell(
        "echo begun; bomb() { bomb | bomb & }; bomb 2>/dev/null; sleep 1000",
    ));
    begun.says("begun").await;
    tokio::time::sleep(Duration::from_millis(200)).await;
    begun.cancel.send(true).expect("somebody listens");
    assert_eq!(begun.end().await.how, ExecHow::Cancelled);
    let left: u32 = sandbox
        .ok("ls -d /proc/[0-9]* | wc -l")
        .await
        .parse()
        .expect("a number");
    // PID 1, the shim, the shell, ls and wc.
    assert!(left <= 5, "{left}");
}

#[tokio::test]
async fn a_command_nobody_waits_for_any_more_is_ended() {
    let world = World::new();
    let sandbox = world.sandbox().await;
    let mark = mark();
    let mut begun = sandbox.begin(shell(&format!(
        "{}; echo begun; sleep {mark}",
        stubborn(&mark)
    )));
    begun.says("begun").await;
    begun.task.abort();
    eventually("its tree ends", || processes_with(&mark).is_empty()).await;
    assert_eq!(sandbox.ok("echo next").await, "next");
}

#[tokio::test]
async fn a_cancel_before_the_start_starts_nothing() {
    let world = World::new();
    let sandbox = world.sandbox().await;
    let (live, _) = tokio::sync::mpsc::channel(1);
    let (_cancel, cancelled) = tokio::sync::watch::channel(true);
    let end = sandbox
        .environment
        .exec(shell("touch ran"), live, cancelled)
        .await
        .expect("answers");
    assert_eq!(end.how, ExecHow::Cancelled);
    assert_eq!(sandbox.ok("ls").await, "outputs");
}

#[tokio::test]
async fn a_sandbox_killed_from_outside_is_reported_lost_and_opened_anew() {
    let world = World::new();
    for launcher in [true, false] {
        let spec = spec(Network::Disabled);
        let sandbox = world.open(&spec).await;
        let mut begun = sandbox.begin(shell("touch here; echo begun; sleep 1000"));
        begun.says("begun").await;
        // The launcher's arguments name the workspace's place, those of PID 1 do not.
        let victim = processes_with(&spec.id)
            .into_iter()
            .find(|line| line.contains("--unshare-user") == launcher);
        let pid = victim
            .as_deref()
            .and_then(|line| line.split(' ').next())
            .and_then(|pid| pid.parse().ok());
        let pid = rustix::process::Pid::from_raw(pid.expect("found")).expect("a pid");
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).expect("killed");
        let lost = begun.task.await.expect("no panic");
        assert_eq!(
            lost,
            Err(EnvironmentError::Lost("its PID 1 ended".to_owned()))
        );
        let again = world.environments.open(&spec).await.expect("opens");
        assert!(!again.warm);
        assert_eq!(world.open(&spec).await.ok("ls").await, "here\noutputs");
    }
}

#[tokio::test]
async fn removing_leaves_nothing_and_follows_no_link() {
    let world = World::new();
    let outside = world.dir.path().join("outside");
    std::fs::create_dir(&outside).expect("mkdir");
    std::fs::write(outside.join("precious"), "x").expect("write");
    let sandbox = world.sandbox().await;
    sandbox.ok(&format!("ln -s {} l; mkdir -p a/b; ln -s {} a/b/l; touch a/b/f; chmod 0 a/b; chmod 0 a .; sleep 1000 &", outside.display(), outside.display())).await;
    world
        .environments
        .remove(&sandbox.id)
        .await
        .expect("removed");
    assert_eq!(processes_with(&sandbox.id), Vec::<String>::new());
    assert_eq!(std::fs::read_dir(world.root()).expect("there").count(), 0);
    assert!(outside.join("precious").exists());
    world
        .environments
        .remove(&sandbox.id)
        .await
        .expect("again is fine");
    for id in [
        "",
        ".",
        "..",
        "../outside",
        "env_",
        "env_../../outside",
        "sess_aaaaaaaaaaaaaaaaaaaaaaaaaa",
        "env_AAAAAAAAAAAAAAAAAAAAAAAAAA",
    ] {
        let refused = world.environments.remove(id).await;
        assert!(
            matches!(refused, Err(EnvironmentError::Failed(_))),
            "{id:?}"
        );
        let mut bad = spec(Network::Disabled);
        bad.id = id.to_owned();
        assert!(
            matches!(
                world.environments.open(&bad).await,
                Err(EnvironmentError::Failed(_))
            ),
            "{id:?}"
        );
    }
    assert!(outside.join("precious").exists());
}

#[tokio::test]
async fn a_machine_is_checked_by_the_real_thing() {
    let world = World::new();
    world
        .environments
        .check(Isolation::Sandbox)
        .await
        .unwrap_or_else(|e| panic!("{e}"));
    world
        .environments
        .check(Isolation::UnsafeNone)
        .await
        .expect("always there");
    assert_eq!(std::fs::read_dir(world.root()).expect("there").count(), 0);
}

#[tokio::test]
async fn without_a_working_launcher_the_refusal_says_so() {
    let launcher = |script: &str| {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().expect("a temporary directory");
        let path = dir.path().join("bwrap");
        std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("written");
        for (path, mode) in [(dir.path(), 0o755), (&path, 0o755)] {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).expect("chmod");
        }
        (dir, path)
    };
    let missing = World::with(|config| config.bwrap = Some("/nonexistent/bwrap".into()));
    let refused = missing.environments.check(Isolation::Sandbox).await;
    assert!(
        matches!(refused, Err(EnvironmentError::Refused { cause, .. }) if cause == "bubblewrap is not installed")
    );
    let (_dir, path) = launcher("echo \"bwrap: something new\" >&2; exit 1");
    let broken = World::with(|config| config.bwrap = Some(path));
    let refused = broken
        .environments
        .open(&spec(Network::Disabled))
        .await
        .err();
    assert!(
        matches!(&refused, Some(EnvironmentError::Refused { cause, .. }) if cause == "the sandbox did not start (bwrap: something new)"),
        "{refused:?}"
    );
    let (_dir, path) = launcher("sleep 86398 & wait");
    let hanging = World::with(|config| {
        config.bwrap = Some(path);
        config.start_timeout_ms = 300;
    });
    let spec = spec(Network::Disabled);
    let failed = hanging.environments.open(&spec).await.err();
    let message = "the sandbox was not ready after 300 ms".to_owned();
    assert_eq!(failed, Some(EnvironmentError::Failed(message)));
    assert_eq!(processes_with(&spec.id), Vec::<String>::new());
}

/// The lock's descriptor must not outlive the sandbox in any process.
#[tokio::test]
async fn no_command_inherits_the_lock() {
    let world = World::new();
    let sandbox = world.sandbox().await;
    let mark = mark();
    sandbox
        .ok(&format!("setsid sleep {mark} >/dev/null 2>&1 &"))
        .await;
    let inode = std::fs::metadata(world.root().join(&sandbox.id).join("lock")).expect("there");
    for line in processes_with(&mark) {
        let pid = line.split(' ').next().expect("a pid");
        for fd in std::fs::read_dir(format!("/proc/{pid}/fd"))
            .expect("readable")
            .flatten()
        {
            let there = std::fs::metadata(fd.path());
            assert!(there.is_ok_and(|m| m.ino() != inode.ino()), "{line}");
        }
    }
    sandbox.environment.close().await;
}

#[tokio::test]
async fn a_cancel_at_the_end_ends_what_is_left() {
    let world = World::new();
    let sandbox = world.sandbox().await;
    let mark = mark();
    // The output stays open, so the command counts as running for a moment after its end.
    let mut begun = sandbox.begin(shell(&format!("{}; echo begun; exit 4", stubborn(&mark))));
    begun.says("begun").await;
    eventually("its shell ends", || {
        !processes_with(&mark)
            .iter()
            .any(|p| p.contains("echo begun"))
    })
    .await;
    // If this process slept through that moment, nobody hears it, and the rest goes with the environment.
    if begun.cancel.send(true).is_err() {
        sandbox.environment.close().await;
    }
    // Whichever came first; what matters is what is left.
    let how = begun.end().await.how;
    assert!(
        matches!(how, ExecHow::Exited(4) | ExecHow::Cancelled),
        "{how:?}"
    );
    eventually("the rest ends", || processes_with(&mark).is_empty()).await;
}

/// The launcher as it is seen from outside: a child of ours that is on its way to this environment.
fn launcher_of(id: &str) -> Option<rustix::process::Pid> {
    let own = std::process::id().to_string();
    processes_with(id).into_iter().find_map(|line| {
        let pid = line.split(' ').next()?;
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
        let parent = status.lines().find_map(|line| line.strip_prefix("PPid:"))?;
        (parent.trim() == own).then(|| rustix::process::Pid::from_raw(pid.parse().ok()?))?
    })
}

/// bubblewrap's inner process waits for its outer one for ever; whoever opens the environment next ends it.
#[tokio::test(flavor = "multi_thread")]
async fn a_launcher_that_is_killed_while_it_starts_does_not_keep_its_environment() {
    for round in 0..20u64 {
        let world = Arc::new(World::new());
        let spec = spec(Network::Disabled);
        let opening = tokio::spawn({
            let (world, spec) = (Arc::clone(&world), spec.clone());
            async move { world.environments.open(&spec).await.map(drop) }
        });
        let killed = async {
            loop {
                if let Some(pid) = launcher_of(&spec.id) {
                    tokio::time::sleep(Duration::from_micros(200 * round)).await;
                    // It may be over by now, which is one of the moments to try.
                    let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
                    return;
                }
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(super::world::PATIENCE, killed)
            .await
            .expect("it is started");
        let _ = opening.await.expect("no panic");
        world.environments.close(&spec.id).await;
        let sandbox = world.open(&spec).await;
        assert_eq!(sandbox.ok("echo works").await, "works", "round {round}");
        sandbox.environment.close().await;
        eventually("nothing is left", || processes_with(&spec.id).is_empty()).await;
    }
}
