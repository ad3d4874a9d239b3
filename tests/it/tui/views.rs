//! The screens beside the transcript over the real program, a real store and a real daemon.

use super::tmux::{Tmux, titled};
use crate::cli::env::{TestEnv, content};
use crate::remote::far::KEY;

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

#[test]
fn marked_sessions_are_exported_and_deleted_together() {
    let env = TestEnv::new();
    let ids = ["one", "two"].map(|title| titled(&env, title, "@say done"));
    let backup = env.path("backup");
    std::fs::create_dir(&backup).expect("makes");
    let tmux = Tmux::new(env, 120, 40);
    tmux.open("tui");
    tmux.see("one");
    tmux.keys(&["Space", "Space", "E"]);
    tmux.see("Export these 2 Sessions?");
    tmux.type_in(&backup.display().to_string());
    tmux.keys(&["Enter"]);
    let told = tmux.see("2 of 2 done");
    for id in &ids {
        assert!(told.contains(id.as_str()), "{told}");
        assert!(backup.join(format!("{id}.tar.zst")).is_file());
    }
    tmux.keys(&["Escape"]);
    tmux.until("the list", |screen| screen.contains("enter open"));
    tmux.keys(&["g", "Space", "Space", "D"]);
    tmux.see("Delete these 2 Sessions?");
    tmux.type_in("delete 2");
    tmux.keys(&["Enter"]);
    tmux.see("2 of 2 done");
    tmux.keys(&["Enter"]);
    tmux.see("no Sessions yet");
    tmux.keys(&["q"]);
    tmux.is_given_back("quitting");
}

#[test]
fn the_files_of_an_environment_are_seen_as_they_are_now() {
    let tmux = Tmux::new(TestEnv::new(), 120, 40);
    tmux.open("tui");
    tmux.keys(&["c"]);
    tmux.see("A new Session");
    tmux.type_in("@exec mkdir -p src && echo kept > src/kept.txt");
    tmux.keys(&["Enter"]);
    tmux.see("Create this Session?");
    tmux.keys(&["c"]);
    tmux.see("done in");
    tmux.keys(&["4"]);
    tmux.see("f shows its files");
    tmux.keys(&["f"]);
    tmux.see("/workspace/src/kept.txt");
    tmux.keys(&["q"]);
    tmux.is_given_back("quitting");
}

#[test]
fn another_profile_is_gone_to_and_one_that_can_not_be_opened_is_told() {
    let far = "kind = \"api\"\nbase_url = \"http://127.0.0.1:9/v1\"";
    let env = TestEnv::configured(&format!(
        "default_profile = \"here\"\n[profile.here]\nkind = \"local\"\n[profile.far]\n{far}\nkey_env = \"FAR_KEY\"\n[profile.odd]\n{far}\nkey_env = \"FAR_KEY\"\nca_file = \"/nowhere/ca.pem\"\n"
    ));
    let tmux = Tmux::new(env.with("FAR_KEY", KEY), 120, 40);
    tmux.open("tui");
    let go_to = |name: &str| {
        tmux.keys(&[":"]);
        tmux.type_in(&format!("profile {name}"));
        tmux.see(&format!("> the Sessions of profile {name}"));
        tmux.keys(&["Enter"]);
    };
    go_to("odd");
    let told = tmux.see("profile odd: ");
    assert!(told.starts_with(" rat-things  here"), "{told}");
    go_to("far");
    tmux.see(" rat-things  far  http://127.0.0.1:9/v1");
    tmux.see("not read");
    go_to("here");
    tmux.see("no Sessions yet");
    tmux.keys(&["q"]);
    tmux.is_given_back("quitting");
}
