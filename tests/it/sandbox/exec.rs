//! Commands: how they end, what they say, what they see, what they leave running.

use rat_things::engine::ports::ExecHow;

use super::world::{World, argv, program, shell};

#[tokio::test]
async fn a_command_runs_in_the_workspace_and_its_files_stay() {
    let world = World::new();
    let sandbox = world.sandbox().await;
    let said = sandbox
        .ok("pwd; echo hello > outputs/a.txt; id -u; ls -l /workspace")
        .await;
    assert!(said.starts_with("/workspace\n"), "{said}");
    let on_host = std::fs::read_to_string(sandbox.workspace.join("outputs/a.txt"));
    assert_eq!(on_host.expect("readable"), "hello\n");
    sandbox.environment.close().await;
}
