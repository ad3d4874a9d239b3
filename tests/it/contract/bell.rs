//! What every bell promises: prompt when all is well, harmless when not.

use std::time::Duration;

use rat_things::backend::local::bell::LocalBell;
use rat_things::backend::memory::bell::MemoryBell;
use rat_things::engine::ports::{Bell, LivePart, LiveText};
use tokio::sync::mpsc::Receiver;
use tokio::time::timeout;

/// Far more than a ring takes; only a failing test waits it out.
const PATIENCE: Duration = Duration::from_secs(20);

async fn heard(rings: &mut Receiver<String>) -> Option<String> {
    timeout(PATIENCE, rings.recv()).await.expect("a ring came")
}

/// Two ends of one bell.
async fn every_listener_hears_a_ring(one: &dyn Bell, other: &dyn Bell) {
    let mut here = one.listen();
    let mut here_too = one.listen();
    let mut there = other.listen();
    one.ring("sess_a");
    for rings in [&mut here, &mut here_too, &mut there] {
        assert_eq!(heard(rings).await.as_deref(), Some("sess_a"));
    }
    other.ring("sess_b");
    for rings in [&mut here, &mut here_too, &mut there] {
        assert_eq!(heard(rings).await.as_deref(), Some("sess_b"));
    }
}

async fn a_listener_that_left_disturbs_nobody(one: &dyn Bell, other: &dyn Bell) {
    drop(one.listen());
    let mut rings = one.listen();
    other.ring("sess_a");
    assert_eq!(heard(&mut rings).await.as_deref(), Some("sess_a"));
}

async fn a_slow_listener_loses_rings_and_never_holds_up_the_ringer(
    one: &dyn Bell,
    other: &dyn Bell,
) {
    let mut slow = one.listen();
    for _ in 0..5_000 {
        one.ring("sess_a");
        other.ring("sess_a");
    }
    assert_eq!(heard(&mut slow).await.as_deref(), Some("sess_a"));
    while slow.try_recv().is_ok() {}
    // It has room again.
    loop {
        other.ring("sess_last");
        if heard(&mut slow).await.as_deref() == Some("sess_last") {
            break;
        }
    }
}

fn text(session: &str, words: &str) -> LiveText {
    LiveText {
        session: session.into(),
        generation: 7,
        turn: 1,
        item: 2,
        output_index: 0,
        part: LivePart::Summary(3),
        attempt: 4,
        offset_bytes: 5,
        text: words.into(),
    }
}

async fn overheard(texts: &mut Receiver<LiveText>) -> Option<LiveText> {
    timeout(PATIENCE, texts.recv()).await.expect("text came")
}

async fn text_reaches_those_who_overhear_its_session_and_nobody_else(
    one: &dyn Bell,
    other: &dyn Bell,
) {
    let mut here = one.overhear("sess_a");
    let mut there = other.overhear("sess_a");
    let mut elsewhere = other.overhear("sess_ab");
    one.tell(&text("sess_a", "so \u{1b}é"));
    one.tell(&text("sess_ab", "mine"));
    one.tell(&text("sess_a", &"\u{1}".repeat(LiveText::MAX_BYTES)));
    for texts in [&mut here, &mut there] {
        assert_eq!(overheard(texts).await, Some(text("sess_a", "so \u{1b}é")));
        let long = overheard(texts).await.expect("text");
        assert_eq!(long.text.len(), LiveText::MAX_BYTES);
    }
    assert_eq!(
        overheard(&mut elsewhere).await,
        Some(text("sess_ab", "mine"))
    );
    assert!(elsewhere.try_recv().is_err());
}

async fn a_slow_follower_loses_text_and_never_holds_up_the_teller(
    one: &dyn Bell,
    other: &dyn Bell,
) {
    let mut slow = one.overhear("sess_a");
    for _ in 0..5_000 {
        other.tell(&text("sess_a", "a"));
    }
    assert_eq!(overheard(&mut slow).await, Some(text("sess_a", "a")));
    while slow.try_recv().is_ok() {}
    // It has room again.
    loop {
        other.tell(&text("sess_a", "last"));
        if overheard(&mut slow).await == Some(text("sess_a", "last")) {
            break;
        }
    }
}

mod local {
    use super::*;

    fn two_in(dir: &std::path::Path) -> (LocalBell, LocalBell) {
        (LocalBell::new(dir), LocalBell::new(dir))
    }

    #[tokio::test]
    async fn every_listener_hears_a_ring() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let (one, other) = two_in(dir.path());
        super::every_listener_hears_a_ring(&one, &other).await;
    }

    #[tokio::test]
    async fn a_listener_that_left_disturbs_nobody() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let (one, other) = two_in(dir.path());
        super::a_listener_that_left_disturbs_nobody(&one, &other).await;
    }

    #[tokio::test]
    async fn a_slow_listener_loses_rings_and_never_holds_up_the_ringer() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let (one, other) = two_in(dir.path());
        super::a_slow_listener_loses_rings_and_never_holds_up_the_ringer(&one, &other).await;
    }

    #[tokio::test]
    async fn text_reaches_those_who_overhear_its_session_and_nobody_else() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let (one, other) = two_in(dir.path());
        super::text_reaches_those_who_overhear_its_session_and_nobody_else(&one, &other).await;
    }

    #[tokio::test]
    async fn a_slow_follower_loses_text_and_never_holds_up_the_teller() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let (one, other) = two_in(dir.path());
        super::a_slow_follower_loses_text_and_never_holds_up_the_teller(&one, &other).await;
    }

    #[tokio::test]
    async fn a_follower_that_left_leaves_no_socket() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let bell = LocalBell::new(dir.path());
        let texts = bell.overhear("sess_a");
        let sockets = || dir.path().read_dir().expect("lists").count();
        assert_eq!(sockets(), 1);
        drop(texts);
        timeout(PATIENCE, async {
            while sockets() > 0 {
                tokio::task::yield_now().await;
            }
        })
        .await
        .expect("it is removed");
        bell.tell(&text("sess_a", "to nobody"));
    }

    #[tokio::test]
    async fn what_is_no_session_is_overheard_by_nobody() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let bell = LocalBell::new(dir.path());
        for odd in ["", "../sess_a", "sess a", &"s".repeat(200)] {
            let mut texts = bell.overhear(odd);
            bell.tell(&text(odd, "x"));
            assert!(texts.recv().await.is_none(), "{odd:?}");
        }
        assert_eq!(dir.path().read_dir().expect("lists").count(), 0);
    }

    #[tokio::test]
    async fn a_very_long_run_directory_works() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let long = dir.path().join("d".repeat(120)).join("e".repeat(200));
        std::fs::create_dir_all(&long).expect("makes it");
        let (one, other) = two_in(&long);
        super::every_listener_hears_a_ring(&one, &other).await;
    }

    #[tokio::test]
    async fn sockets_of_dead_listeners_are_removed_and_other_files_are_not() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let stale = dir.path().join("bell-1-00000000.sock");
        drop(std::os::unix::net::UnixDatagram::bind(&stale).expect("binds"));
        let other_file = dir.path().join("daemon.sock");
        drop(std::os::unix::net::UnixDatagram::bind(&other_file).expect("binds"));
        let (one, other) = two_in(dir.path());
        let mut rings = one.listen();
        other.ring("sess_a");
        assert_eq!(heard(&mut rings).await.as_deref(), Some("sess_a"));
        assert!(!stale.exists());
        assert!(other_file.exists());
    }

    #[tokio::test]
    async fn a_dropped_bell_leaves_no_socket() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let bell = LocalBell::new(dir.path());
        let rings = bell.listen();
        assert_eq!(dir.path().read_dir().expect("lists").count(), 1);
        drop((bell, rings));
        assert_eq!(dir.path().read_dir().expect("lists").count(), 0);
    }

    #[tokio::test]
    async fn without_a_run_directory_rings_reach_this_process_alone() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let bell = LocalBell::new(dir.path().join("missing"));
        let mut rings = bell.listen();
        bell.ring("sess_a");
        assert_eq!(heard(&mut rings).await.as_deref(), Some("sess_a"));
    }
}

mod memory {
    use super::*;

    #[tokio::test]
    async fn every_listener_hears_a_ring() {
        let bell = MemoryBell::new();
        super::every_listener_hears_a_ring(&bell, &bell.clone()).await;
    }

    #[tokio::test]
    async fn a_listener_that_left_disturbs_nobody() {
        let bell = MemoryBell::new();
        super::a_listener_that_left_disturbs_nobody(&bell, &bell.clone()).await;
    }

    #[tokio::test]
    async fn a_slow_listener_loses_rings_and_never_holds_up_the_ringer() {
        let bell = MemoryBell::new();
        super::a_slow_listener_loses_rings_and_never_holds_up_the_ringer(&bell, &bell.clone())
            .await;
    }

    #[tokio::test]
    async fn text_reaches_those_who_overhear_its_session_and_nobody_else() {
        let bell = MemoryBell::new();
        super::text_reaches_those_who_overhear_its_session_and_nobody_else(&bell, &bell.clone())
            .await;
    }

    #[tokio::test]
    async fn a_slow_follower_loses_text_and_never_holds_up_the_teller() {
        let bell = MemoryBell::new();
        super::a_slow_follower_loses_text_and_never_holds_up_the_teller(&bell, &bell.clone()).await;
    }

    #[tokio::test]
    async fn lost_rings_are_lost() {
        let bell = MemoryBell::new();
        let mut rings = bell.listen();
        bell.lose_rings(true);
        bell.ring("sess_a");
        bell.lose_rings(false);
        bell.ring("sess_b");
        assert_eq!(heard(&mut rings).await.as_deref(), Some("sess_b"));
    }
}
