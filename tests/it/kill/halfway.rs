//! States that only a kill leaves behind, made by hand, so that each is met every time.

use pretty_assertions::assert_eq;

use super::rat::Rat;
use super::records::Records;

#[test]
fn a_workspace_that_was_half_prepared_is_finished() {
    let rat = Rat::with("daemon.autostart = false");
    let session = rat.create("@exec echo made > /workspace/outputs/made.txt");
    let workspace = rat.workspace(&session);
    // A worker died between making this and giving it to whom commands run as.
    std::fs::create_dir_all(workspace.join("outputs")).expect("made");
    let records = Records::open(&rat);
    rat.ok(&["daemon", "start"]);
    records.until_idle(&session, &rat);
    let artifacts = rat.artifacts(&session);
    let paths: Vec<_> = artifacts
        .iter()
        .map(|artifact| artifact["path"].as_str())
        .collect();
    assert_eq!(paths, [Some("/workspace/outputs/made.txt")]);
    rat.stop();
}
