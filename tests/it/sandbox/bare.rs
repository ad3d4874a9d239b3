//! Isolation `unsafe_none`: no walls, but the same ways to run, bound, end and keep.

use rat_things::engine::ports::{
    CaptureLimits, EnvironmentSpec, ExecHow, Isolation, Network, Program,
};

use super::world::{Sandbox, World, argv, eventually, processes_with, program, shell, spec};

async fn bare(world: &World) -> Sandbox {
    world
        .open(&EnvironmentSpec {
            isolation: Isolation::UnsafeNone,
            ..spec(Network::Disabled)
        })
        .await
}

#[tokio::test]
async fn commands_run_in_the_workspace_of_the_machine() {
    let world = World::new();
    let sandbox = bare(&world).await;
    let here = sandbox.workspace.display().to_string();
    assert_eq!(
        sandbox.ok("pwd; echo $HOME; echo $WORKSPACE; id -u").await,
        format!(
            "{here}\n{here}\n{here}\n{}",
            rustix::process::getuid().as_raw()
        )
    );
    let mut below = shell("pwd");
    below.cwd = "/workspace/outputs".to_owned();
    assert_eq!(
        sandbox.exec(below).await.output.trim(),
        format!("{here}/outputs")
    );
    let mut beside = shell("pwd");
    beside.cwd = "/workspaces".to_owned();
    assert_eq!(
        sandbox.exec(beside).await.how,
        ExecHow::NotStarted("no such directory: /workspaces".to_owned())
    );
    assert_eq!(sandbox.run("exit 7").await.how, ExecHow::Exited(7));
    assert_eq!(sandbox.run("kill -9 $$").await.how, ExecHow::Signalled(9));
    assert_eq!(
        sandbox.exec(argv(&["no-such-program"])).await.how,
        ExecHow::NotStarted("no such program: no-such-program".to_owned())
    );
    assert!(matches!(
        sandbox.exec(program(Program::ApplyPatch)).await.how,
        ExecHow::Exited(_)
    ));
}

#[tokio::test]
async fn variables_are_still_a_list() {
    let world = World::new();
    let sandbox = bare(&world).await;
    let seen = sandbox.ok("env | cut -d= -f1 | sort").await;
    let known =
        "HOME LANG LC_ALL LC_CTYPE LOGNAME PATH PWD SHELL SHLVL TERM TMPDIR TZ USER WORKSPACE _";
    for name in seen.lines() {
        assert!(known.split(' ').any(|k| k == name), "{name} is visible");
    }
}

#[tokio::test]
async fn cancel_ends_the_tree_and_spares_everybody_else() {
    let world = World::new();
    let (sandbox, other) = (bare(&world).await, bare(&world).await);
    let (mine, theirs) = ("86397.125", "86397.25");
    other
        .ok(&format!("setsid sleep {theirs} >/dev/null 2>&1 &"))
        .await;
    let mut begun = sandbox.begin(shell(&format!(
        "(setsid sh -c '(sleep {mine} &)' &); nohup sleep {mine} & echo begun; sleep {mine}"
    )));
    begun.says("begun").await;
    begun.cancel.send(true).expect("somebody listens");
    assert_eq!(begun.end().await.how, ExecHow::Cancelled);
    assert_eq!(processes_with(mine), Vec::<String>::new());
    assert_eq!(processes_with(theirs).len(), 1);
    other.environment.close().await;
    assert_eq!(processes_with(theirs), Vec::<String>::new());
    drop(sandbox.environment);
    drop(world);
    eventually("it ends", || processes_with(&sandbox.id).is_empty()).await;
}

#[tokio::test]
async fn outputs_are_kept_by_the_same_rules() {
    let world = World::new();
    let sandbox = bare(&world).await;
    sandbox
        .ok("cd outputs; printf x > x; ln -s /etc/passwd link")
        .await;
    let outputs = sandbox
        .environment
        .outputs(CaptureLimits::default())
        .await
        .expect("captured");
    assert_eq!(
        outputs
            .files
            .iter()
            .map(|f| f.path.as_str())
            .collect::<Vec<_>>(),
        ["/workspace/outputs/x"]
    );
    assert_eq!(
        outputs
            .left_out
            .iter()
            .map(|l| l.reason.as_str())
            .collect::<Vec<_>>(),
        ["symbolic link"]
    );
}

#[tokio::test]
async fn files_and_processor_time_are_bounded() {
    let world = World::with(|config| {
        config.limits.file_bytes = 1 << 20;
        config.limits.cpu_seconds = 1;
    });
    let sandbox = bare(&world).await;
    assert_eq!(
        sandbox
            .run("exec head -c 2000000 /dev/zero > big")
            .await
            .how,
        ExecHow::Signalled(libc::SIGXFSZ)
    );
    assert!(matches!(
        sandbox.run("while :; do :; done").await.how,
        ExecHow::Signalled(_)
    ));
}
