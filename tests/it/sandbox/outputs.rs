//! What is kept of /workspace/outputs, and what is left out and why.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use rat_things::engine::ports::{CaptureLimits, Environments, ExecHow, Outputs};
use tokio::io::AsyncReadExt;

use super::world::{Sandbox, World, shell};

async fn outputs(sandbox: &Sandbox, limits: CaptureLimits) -> Outputs {
    sandbox
        .environment
        .outputs(limits)
        .await
        .unwrap_or_else(|e| panic!("{e}"))
}

/// Path below outputs to content, and path below outputs to reason.
async fn capture(
    sandbox: &Sandbox,
    limits: CaptureLimits,
) -> (BTreeMap<String, String>, BTreeMap<String, String>) {
    let outputs = outputs(sandbox, limits).await;
    let below = |path: &str| {
        path.strip_prefix("/workspace/outputs")
            .expect("below outputs")
            .trim_start_matches('/')
            .to_owned()
    };
    let mut files = BTreeMap::new();
    for mut file in outputs.files {
        let mut content = String::new();
        file.content
            .read_to_string(&mut content)
            .await
            .expect("readable");
        assert_eq!(content.len() as u64, file.size_bytes);
        files.insert(below(&file.path), content);
    }
    let left_out = outputs
        .left_out
        .into_iter()
        .map(|left| (below(&left.path), left.reason))
        .collect();
    (files, left_out)
}

fn map(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs
        .iter()
        .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))
        .collect()
}

#[tokio::test]
async fn regular_files_are_kept_and_everything_else_is_named() {
    let world = World::new();
    let sandbox = world.sandbox().await;
    sandbox
        .ok("cd outputs; printf a > a; mkdir -p d/e; printf b > d/e/b; printf '' > empty; printf ä > 'ä b'
            printf secret > ../secret
            ln -s ../secret link; ln -s / root; ln -s nowhere dangling; ln -s /proc/self/environ magic
            ln ../secret hard; printf x > twin1; ln twin1 twin2
            mkfifo pipe; mkdir shut; printf x > shut/x; printf x > closed
            perl -e 'use Socket; socket(my $s, AF_UNIX, SOCK_STREAM, 0); bind($s, pack(\"S a*\", AF_UNIX, \"socket\")) or die'
            printf x > \"$(printf 'bad\\377name')\"; rm ../secret; printf x > ../hidden; ln ../hidden hard2")
        .await;
    sandbox
        .ok("cd outputs; chmod 0 closed shut; mkdir -p ok; true")
        .await;
    let (files, mut left_out) = capture(&sandbox, CaptureLimits::default()).await;
    let mut expect = map(&[
        ("a", "a"),
        ("d/e/b", "b"),
        ("empty", ""),
        ("ä b", "ä"),
        ("hard", "secret"),
    ]);
    // Root may read what its owner closed; an ordinary user may not.
    if rustix::process::geteuid().is_root() {
        expect.extend(map(&[("closed", "x"), ("shut/x", "x")]));
    } else {
        for name in ["closed", "shut"] {
            assert_eq!(
                left_out.remove(name).as_deref(),
                Some("not readable (its mode forbids it)")
            );
        }
    }
    assert_eq!(files, expect);
    let expect = map(&[
        ("bad\u{fffd}name", "its name is not valid UTF-8"),
        ("dangling", "symbolic link"),
        ("hard2", "hard link"),
        ("link", "symbolic link"),
        ("magic", "symbolic link"),
        ("pipe", "named pipe"),
        ("root", "symbolic link"),
        ("socket", "socket"),
        ("twin1", "hard link"),
        ("twin2", "hard link"),
    ]);
    assert_eq!(left_out, expect);
}

#[tokio::test]
async fn the_directory_itself_cannot_be_replaced_by_a_way_out() {
    let world = World::new();
    let sandbox = world.sandbox().await;
    for (script, reason) in [
        ("ln -s / outputs", Some("symbolic link")),
        ("ln -s .. outputs", Some("symbolic link")),
        ("ln -s /proc/self/root outputs", Some("symbolic link")),
        ("echo x > outputs", Some("not a directory")),
        ("mkfifo outputs", Some("named pipe")),
        ("true", None),
    ] {
        sandbox.ok(&format!("rm -rf outputs; {script}")).await;
        let (files, left_out) = capture(&sandbox, CaptureLimits::default()).await;
        assert_eq!(files, BTreeMap::new(), "{script}");
        assert_eq!(left_out.get("").map(String::as_str), reason, "{script}");
    }
}

#[tokio::test]
async fn limits_leave_out_the_same_files_every_time() {
    let world = World::new();
    let sandbox = world.sandbox().await;
    sandbox
        .ok("cd outputs; for f in e d c b a; do printf 1234 > $f; done; printf 12345 > big")
        .await;
    let limits = |file_bytes, turn_bytes, files| CaptureLimits {
        file_bytes,
        turn_bytes,
        files,
    };
    let (files, left_out) = capture(&sandbox, limits(4, 1000, 1000)).await;
    assert_eq!(files.len(), 5);
    assert_eq!(left_out, map(&[("big", "more than 4 bytes")]));
    let (files, left_out) = capture(&sandbox, limits(1000, 13, 1000)).await;
    assert_eq!(files.keys().collect::<Vec<_>>(), ["a", "b", "big"]);
    assert_eq!(
        left_out.get("c").map(String::as_str),
        Some("more than 13 bytes in one Turn")
    );
    let (files, left_out) = capture(&sandbox, limits(1000, 1000, 2)).await;
    assert_eq!(files.keys().collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!(
        left_out.get("e").map(String::as_str),
        Some("more than 2 files in one Turn")
    );
}

#[tokio::test]
async fn depth_and_number_are_bounded() {
    let world = World::new();
    let sandbox = world.sandbox().await;
    sandbox
        .ok("cd outputs; for i in $(seq 1200); do ln -s x l$i; done; p=.; for i in $(seq 20); do p=$p/d; mkdir $p; done; printf x > $p/x")
        .await;
    let outputs = outputs(&sandbox, CaptureLimits::default()).await;
    assert_eq!(outputs.files.len(), 0);
    assert_eq!(outputs.left_out.len(), 1_000);
    assert_eq!(
        outputs.left_out.last().map(|l| l.reason.as_str()),
        Some("202 more entries are left out")
    );
    let deep = outputs
        .left_out
        .iter()
        .find(|l| l.path.ends_with("/d"))
        .map(|l| l.reason.as_str());
    assert_eq!(deep, Some("more than 16 directories deep"));
}

#[tokio::test]
async fn a_thousand_files_are_open_at_once() {
    let world = World::new();
    let sandbox = world.sandbox().await;
    sandbox
        .ok("cd outputs; for i in $(seq 1500); do echo $i > f$i; done")
        .await;
    let (files, left_out) = capture(&sandbox, CaptureLimits::default()).await;
    assert_eq!((files.len(), left_out.len()), (1_000, 500));
}

#[tokio::test]
async fn a_file_that_grows_ends_where_it_ended_when_it_was_opened() {
    let world = World::new();
    let sandbox = world.sandbox().await;
    sandbox.ok("printf before > outputs/log").await;
    let mut outputs = outputs(&sandbox, CaptureLimits::default()).await;
    sandbox
        .ok("printf after >> outputs/log; rm outputs/log")
        .await;
    let mut content = String::new();
    outputs.files[0]
        .content
        .read_to_string(&mut content)
        .await
        .expect("readable");
    assert_eq!(content, "before");
}

#[tokio::test]
async fn swapping_a_file_for_a_link_while_it_is_read_gains_nothing() {
    let world = World::new();
    let outside = world.dir.path().join("secret");
    std::fs::write(&outside, "SECRET").expect("written");
    let sandbox = world.sandbox().await;
    // On the host's side the link leads to a file that is there.
    let script = format!(
        "cd outputs; printf good > ../good; ln -s {} ../bad; echo begun
        exec perl -e 'while (1) {{ link \"../good\", \"n\"; rename \"n\", \"f\"; unlink \"n\"; symlink \"{}\", \"m\"; rename \"m\", \"f\";
            open my $h, \">\", \"o\"; print $h \"good\"; close $h; rename \"o\", \"f\"; }}'",
        outside.display(),
        outside.display()
    );
    let mut begun = sandbox.begin(shell(&script));
    begun.says("begun").await;
    let (mut good, mut refused) = (0, 0);
    let began = std::time::Instant::now();
    while good < 300 || refused < 300 {
        assert!(
            began.elapsed() < super::world::PATIENCE,
            "{good} good, {refused} refused: it hardly raced"
        );
        let captured = outputs(&sandbox, CaptureLimits::default()).await;
        refused += usize::from(!captured.left_out.is_empty());
        for mut file in captured.files {
            let mut content = String::new();
            file.content
                .read_to_string(&mut content)
                .await
                .expect("readable");
            // A file caught while it is being written is short; none is ever another.
            assert!("good".starts_with(&content), "{}: {content}", file.path);
            good += 1;
        }
    }
    begun.cancel.send(true).expect("somebody listens");
    assert_eq!(begun.end().await.how, ExecHow::Cancelled);
}

#[tokio::test]
async fn names_that_are_no_text_are_left_out_by_name() {
    let world = World::new();
    let sandbox = world.sandbox().await;
    let name = OsStr::from_bytes(b"\xff\xfe");
    std::fs::create_dir(sandbox.workspace.join("outputs").join(name)).expect("made");
    let (files, left_out) = capture(&sandbox, CaptureLimits::default()).await;
    assert!(files.is_empty());
    assert_eq!(
        left_out,
        map(&[("\u{fffd}\u{fffd}", "its name is not valid UTF-8")])
    );
}

#[tokio::test]
async fn what_changed_behind_a_capture_is_noticed_and_nothing_else() {
    let world = World::new();
    let sandbox = world.sandbox().await;
    let id = &sandbox.id;
    let held = world.environments.held(id).await.expect("it is open");
    assert!(held.has_new_outputs().await, "nobody has looked yet");
    for script in [
        "mkdir -p /workspace/outputs && echo a > /workspace/outputs/a",
        "echo b > /workspace/outputs/a",
        "touch -d '2001-01-01' /workspace/outputs/a",
        "mkdir /workspace/outputs/dir && echo c > /workspace/outputs/dir/c",
        "ln -s a /workspace/outputs/link",
        "rm -r /workspace/outputs/dir",
    ] {
        outputs(&sandbox, CaptureLimits::default()).await;
        assert!(!held.has_new_outputs().await, "before {script}");
        sandbox.ok(script).await;
        assert!(held.has_new_outputs().await, "{script}");
    }
    outputs(&sandbox, CaptureLimits::default()).await;
    sandbox
        .ok("echo x > /workspace/elsewhere; cat /workspace/outputs/a")
        .await;
    assert!(!held.has_new_outputs().await);
    world.environments.close(id).await;
    assert!(world.environments.held(id).await.is_none());
}

#[tokio::test]
async fn only_an_environment_that_is_open_here_is_held() {
    let world = World::new();
    let spec = super::world::spec(rat_things::engine::ports::Network::Disabled);
    assert!(world.environments.held(&spec.id).await.is_none());
    let sandbox = world.open(&spec).await;
    assert!(world.environments.held(&spec.id).await.is_some());
    let elsewhere = World::at(world.root());
    assert!(elsewhere.environments.held(&spec.id).await.is_none());
    sandbox.environment.close().await;
    assert!(world.environments.held(&spec.id).await.is_none());
}
