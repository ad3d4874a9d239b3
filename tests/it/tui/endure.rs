//! The real program in a real terminal that is resized, has few cells or no colours, behind a daemon that dies, and with a mistake in it.

use std::cell::RefCell;
use std::fs::OpenOptions;
use std::io::Write;
use std::process::Stdio;

use super::tmux::Tmux;
use crate::cli::env::{TestEnv, end};
use crate::remote::far::client;
use crate::server::world::Api;

impl Tmux {
    /// The screen over made-up Sessions.
    fn demo(env: TestEnv, columns: u16, rows: u16) -> Tmux {
        let tmux = Tmux::new(env, columns, rows);
        tmux.open("tui --demo 1k");
        tmux.see_the_list();
        tmux
    }

    /// The list of Sessions; how much of a title there is room for depends on the width.
    fn see_the_list(&self) -> String {
        self.until("the list", |screen| {
            screen.contains("Sessions") && screen.contains("write the report")
        })
    }

    fn resize(&self, columns: u16, rows: u16) {
        let (columns, rows) = (columns.to_string(), rows.to_string());
        let resized = self.tmux(["resize-window", "-x", &columns, "-y", &rows]);
        assert!(resized.status.success(), "{resized:?}");
    }

    /// Opens the Session that so many are newer than.
    fn open_newer(&self, newer: usize, title: &str) {
        for _ in 0..newer {
            self.keys(&["j"]);
        }
        self.keys(&["Enter"]);
        self.until("the session", |screen| {
            screen.contains(title) && screen.contains(" following ")
        });
    }

    /// Waits until every key that was sent was followed: what is asked for behind them is there.
    fn keys_were_followed(&self) -> String {
        self.keys(&["/"]);
        self.see("search upwards:");
        self.keys(&["Escape"]);
        self.until("the search is closed", |screen| {
            !screen.contains("search upwards:")
        })
    }

    /// Writes into the first line of the terminal, behind the back of the program.
    fn scribble(&self, words: &str) {
        let told = self.tmux(["display-message", "-p", "#{pane_tty}"]);
        let tty = String::from_utf8_lossy(&told.stdout).trim().to_owned();
        let tty = OpenOptions::new().write(true).open(tty);
        let tty = RefCell::new(tty.expect("opens"));
        self.until(words, |screen| {
            if !screen.contains(words) {
                // The cursor is put back to where it was. What is still being drawn may take the words away.
                write!(tty.borrow_mut(), "\x1b7\x1b[1;1H{words}\x1b8").expect("writes");
            }
            screen.contains(words)
        });
    }

    /// Whether the screen of a Session is as it is when all of it is drawn again.
    fn is_as_fresh(&self, columns: usize, rows: usize, after: &str) {
        let is_whole = |screen: &str| {
            let lines: Vec<&str> = screen.lines().collect();
            // The line between transcript and footer is where and as wide as it is in this size only.
            let is_rule =
                |line: &&str| line.ends_with(" following ──") && line.chars().count() == columns;
            // A terminal that loses a row may push the first one out.
            lines.len() == rows
                && lines[0].starts_with(" rat-things  demo")
                && lines.iter().position(is_rule) == Some(rows - 4)
                && lines[rows - 1].starts_with(" esc back")
                && lines[rows - 1].ends_with("? help")
        };
        self.keys_were_followed();
        let shown = self.until(&format!("all of {after}"), is_whole);
        // What goes away only by drawing everything says that it was done.
        self.scribble("left over");
        self.keys(&["C-r"]);
        let fresh = self.until(&format!("a fresh screen after {after}"), |screen| {
            !screen.contains("left over") && is_whole(screen)
        });
        assert_eq!(shown, fresh, "after {after}");
    }
}

#[test]
fn a_mistake_of_ours_gives_the_terminal_back_and_says_so() {
    let tmux = Tmux::demo(TestEnv::new(), 80, 24);
    tmux.open_newer(0, "write the report");
    tmux.keys(&["i"]);
    tmux.see("message: steers");
    tmux.type_in("@panic");
    tmux.see("@panic");
    tmux.keys(&["Enter"]);
    tmux.is_given_back("a panic");
    tmux.see("a mistake in it");
}

#[test]
fn what_is_read_stays_in_its_place_when_the_terminal_becomes_small_and_large_again() {
    let tmux = Tmux::demo(TestEnv::new(), 200, 60);
    tmux.open_newer(6, "a long history");
    // Without the columns beside it, so that the lines between them are no part of what is compared.
    tmux.keys(&["+", "C-u", "C-u", "C-u"]);
    let before = tmux.keys_were_followed();
    assert!(before.contains(" not following "), "{before}");
    let first = |screen: &str| {
        let rows = screen.lines().skip(2).map(|line| line.trim().to_owned());
        rows.into_iter()
            .find(|line| !line.is_empty())
            .unwrap_or_default()
    };
    let words: String = first(&before).chars().take(30).collect();
    tmux.resize(80, 24);
    tmux.until(
        &format!("{words:?} in the first line, of\n{before}"),
        |screen| screen.lines().count() == 24 && first(screen).starts_with(&words),
    );
    tmux.resize(200, 60);
    tmux.until("all of it as before", |screen| screen == before);
}

#[test]
fn a_key_that_comes_with_a_change_of_size_is_not_kept_back() {
    let tmux = Tmux::demo(TestEnv::new(), 120, 40);
    tmux.open_newer(3, "hostile");
    for step in 0..60 {
        let columns = (80 + step).to_string();
        // One client tells both, so that there is nearly no time between them.
        tmux.tmux([
            "resize-window",
            "-x",
            &columns,
            "-y",
            "24",
            ";",
            "send-keys",
            "/",
        ]);
        tmux.see("search upwards:");
        tmux.tmux([
            "resize-window",
            "-x",
            &columns,
            "-y",
            "25",
            ";",
            "send-keys",
            "Escape",
        ]);
        tmux.until("the search is closed", |screen| {
            !screen.contains("search upwards:")
        });
    }
}

#[test]
fn after_a_storm_of_sizes_the_screen_is_a_fresh_one_whatever_stands_on_it() {
    let tmux = Tmux::demo(TestEnv::new(), 120, 40);
    // Text that attacks the terminal, with characters of two cells and of none.
    for (newer, title) in [(3, "hostile"), (4, "large and binary output")] {
        tmux.open_newer(newer, title);
        tmux.keys(&["z", "g"]);
        tmux.keys_were_followed();
        for (columns, rows) in [(80, 24), (300, 80), (60, 15), (133, 37)] {
            for step in 0..15 {
                tmux.resize(columns + step % 3, rows + step % 2);
            }
            tmux.resize(columns, rows);
            let after = format!("{columns}x{rows} of {title}");
            tmux.is_as_fresh(columns.into(), rows.into(), &after);
        }
        // Another key at once would be one with alt.
        tmux.keys(&["Escape"]);
        tmux.see_the_list();
        tmux.keys(&["g"]);
    }
    tmux.keys(&["q"]);
    tmux.is_given_back("quitting");
}

#[test]
fn without_colours_no_colour_is_written_and_the_words_are_the_same() {
    let env = TestEnv::new().with("NO_COLOR", "1");
    let tmux = Tmux::demo(env, 100, 30);
    let written = tmux.tmux(["capture-pane", "-p", "-e"]);
    let written = String::from_utf8_lossy(&written.stdout).into_owned();
    for word in ["running", "waiting", "failed"] {
        assert!(written.contains(word), "{written}");
    }
    // Foreground and background colours; bold, dim and reverse are none.
    for part in written.split("\x1b[").skip(1) {
        let (codes, _) = part.split_once('m').unwrap_or_default();
        let colours = codes.split(';').filter_map(|code| code.parse::<u16>().ok());
        let colours: Vec<u16> = colours
            .filter(|code| matches!(code, 30..=38 | 40..=48 | 90..=107))
            .collect();
        assert_eq!(colours, [] as [u16; 0], "{written:?}");
    }
}

#[test]
fn the_least_size_shows_everything_that_is_needed() {
    let tmux = Tmux::demo(TestEnv::new(), 60, 15);
    let screen = tmux.see("enter open");
    assert_eq!(screen.lines().count(), 15, "{screen}");
    tmux.open_newer(1, "ans…");
    tmux.see("lookup_account");
    tmux.keys(&["i"]);
    tmux.see("message:");
    tmux.resize(59, 15);
    tmux.see("59x15 is too small");
    tmux.resize(60, 15);
    tmux.see("message:");
}

#[test]
fn a_daemon_that_is_killed_while_it_is_watched_is_noticed_and_nothing_is_missing_afterwards() {
    let api = Api::new();
    let far = client(&api.base, &api.key);
    let lines =
        "@say first\n@sleep 1500\n@say second\n@sleep 1500\n@say third\n@sleep 1500\n@say fourth";
    let created = far.run_with(
        "sessions create --model demo --environment none --no-wait --input - -o id",
        lines.as_bytes(),
    );
    let session = created.stdout.trim().to_owned();
    let tmux = Tmux::new(far, 100, 30);
    tmux.open(&format!("tui {session}"));
    tmux.see("running");
    end(api.pid());
    tmux.see("not read for");
    // Nothing waits for what is gone.
    tmux.keys(&["?"]);
    tmux.see("esc close");
    tmux.keys(&["Escape"]);
    tmux.see("not read for");
    let address = api
        .base
        .trim_start_matches("http://")
        .trim_end_matches("/v1");
    let mut again = api
        .env
        .command(["daemon", "run", "--listen", address])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("starts");
    let caught_up = tmux.until("all of it", |screen| {
        screen.contains("fourth") && screen.contains("done in") && !screen.contains("not read for")
    });
    for said in ["first", "second", "third", "fourth"] {
        let shown = caught_up
            .lines()
            .filter(|line| line.trim_end().ends_with(said) && !line.contains('@'));
        assert_eq!(shown.count(), 1, "{said} in\n{caught_up}");
    }
    tmux.keys(&["q"]);
    tmux.is_given_back("quitting");
    api.env.ok("daemon stop");
    again.wait().expect("ends");
}
