//! The screens beside the transcript over the real program, a real store and a real daemon.

use super::tmux::Tmux;
use crate::cli::env::{TestEnv, content};

#[test]
fn a_session_is_created_looked_into_from_every_side_and_its_artifact_is_saved() {
    let env = TestEnv::new();
    let file = env.path("kept.txt");
    let tmux = Tmux::new(env, 120, 40);
    tmux.open("tui");
    tmux.keys(&["c"]);
    tmux.see("A new Session");
    tmux.type_in("@exec mkdir -p outputs && echo kept > outputs/a.txt");
    tmux.keys(&["C-j"]);
    tmux.type_in("@say it is there");
    tmux.keys(&["Tab"]);
    tmux.type_in("the keeper");
    tmux.keys(&["Enter"]);
    tmux.see("Create this Session?");
    tmux.keys(&["c"]);
    let open = tmux.see("agent    it is there");
    assert!(open.contains("the keeper"), "{open}");

    tmux.keys(&["t"]);
    tmux.see("TOKENS");
    tmux.keys(&["d"]);
    tmux.see("words, line 1");
    tmux.keys(&["Escape"]);
    tmux.see("TOKENS");
    tmux.keys(&["Enter"]);
    tmux.see("following");

    tmux.keys(&["5"]);
    tmux.see("outputs/a.txt");
    tmux.keys(&["Enter"]);
    tmux.until("the preview", |screen| {
        screen.lines().any(|line| line.trim() == "kept")
    });
    tmux.keys(&["s"]);
    tmux.see("Save this Artifact");
    tmux.keys(&["C-u"]);
    tmux.type_in(&file.display().to_string());
    tmux.keys(&["Enter"]);
    tmux.see("saved ");
    assert_eq!(content(&file), "kept\n");
    tmux.keys(&["s"]);
    tmux.see("Save this Artifact");
    tmux.keys(&["C-u"]);
    tmux.type_in(&file.display().to_string());
    tmux.keys(&["Enter"]);
    tmux.see("There is a file of that name already");
    tmux.keys(&["Escape"]);
    tmux.see("or under its own name");
    tmux.keys(&["Escape"]);
    tmux.until("no question", |screen| {
        !screen.contains("Save this Artifact")
    });

    tmux.keys(&["3"]);
    tmux.see("generation  1");
    tmux.keys(&["4"]);
    tmux.see("resets          0");
    tmux.keys(&["Escape"]);
    tmux.see("following");
    tmux.keys(&["e"]);
    tmux.see("Why it does or does not move");
    tmux.until("an explanation", |screen| screen.contains("ok "));
    tmux.keys(&["2"]);
    tmux.see("nothing is or was to be delivered");
    tmux.keys(&["6"]);
    tmux.see("data directory");
    tmux.keys(&[":"]);
    tmux.type_in("fences");
    tmux.see("> the Runs of the Session, with their fences");
    tmux.keys(&["Escape"]);
    tmux.until("no palette", |screen| !screen.contains("with their fences"));
    tmux.keys(&["1"]);
    tmux.see("the keeper");
    tmux.keys(&["q"]);
    tmux.is_given_back("quitting");
}
