//! The real program and a real daemon in a terminal that a person could sit at: tmux types, and reads what is on the screen.

use std::process::{Command, Output};
use std::time::{Duration, Instant};

use crate::cli::env::{PATIENCE, PROGRAM, TestEnv};

/// A shell in a terminal of its own.
pub struct Tmux {
    pub env: TestEnv,
    socket: String,
}

impl Tmux {
    pub fn new(env: TestEnv, columns: u16, rows: u16) -> Tmux {
        let socket = env.path("tmux").display().to_string();
        let tmux = Tmux { env, socket };
        let (columns, rows) = (columns.to_string(), rows.to_string());
        let shell = ["sh", "-c", "PS1='ready> '; export PS1; exec sh -i"];
        let start = [
            "-f",
            "/dev/null",
            "new-session",
            "-d",
            "-x",
            &columns,
            "-y",
            &rows,
        ];
        let began = tmux.tmux(start.into_iter().chain(shell));
        assert!(began.status.success(), "{began:?}");
        tmux.until("a shell", |screen| screen.contains("ready>"));
        tmux
    }

    pub fn tmux<'a>(&self, words: impl IntoIterator<Item = &'a str>) -> Output {
        Command::new("tmux")
            .args(["-S", &self.socket])
            .args(words)
            .env_clear()
            .envs(self.env.vars().iter().map(|(name, value)| (name, value)))
            .env("SHELL", "/bin/sh")
            .current_dir(self.env.path(""))
            .output()
            .expect("tmux is installed")
    }

    /// Keys by tmux's names.
    pub fn keys(&self, keys: &[&str]) {
        let sent = self.tmux(["send-keys"].into_iter().chain(keys.iter().copied()));
        assert!(sent.status.success(), "{sent:?}");
    }

    pub fn type_in(&self, text: &str) {
        let sent = self.tmux(["send-keys", "-l", text]);
        assert!(sent.status.success(), "{sent:?}");
    }

    pub fn screen(&self) -> String {
        String::from_utf8_lossy(&self.tmux(["capture-pane", "-p"]).stdout).into_owned()
    }

    /// Waits until the screen is so, and answers it.
    pub fn until(&self, what: &str, is_so: impl Fn(&str) -> bool) -> String {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let screen = self.screen();
            if is_so(&screen) {
                return screen;
            }
            assert!(Instant::now() < deadline, "not reached: {what}\n{screen}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    pub fn see(&self, text: &str) -> String {
        self.until(text, |screen| screen.contains(text))
    }

    /// Starts the screen, and waits until it is there.
    pub fn open(&self, words: &str) -> String {
        self.type_in(&format!("{PROGRAM} {words}"));
        self.keys(&["Enter"]);
        self.see("live")
    }

    /// Whether the terminal is a shell's again: lines are edited, letters are seen, the screen from before is there.
    pub fn is_given_back(&self, after: &str) {
        self.until(after, |screen| screen.trim_end().ends_with("ready>"));
        self.type_in("stty -a | tr ' ' '\\n' | grep -xE -- '-?(icanon|echo|isig)' | sort | tr '\\n' ' '; echo ,");
        self.keys(&["Enter"]);
        self.see("echo icanon isig ,");
        let modes = self.tmux(["display-message", "-p", "#{alternate_on} #{cursor_flag}"]);
        assert_eq!(
            String::from_utf8_lossy(&modes.stdout).trim(),
            "0 1",
            "after {after}"
        );
    }

    /// The pid of the screen.
    fn pid(&self) -> u32 {
        let shell = self.tmux(["display-message", "-p", "#{pane_pid}"]);
        let shell: u32 = String::from_utf8_lossy(&shell.stdout)
            .trim()
            .parse()
            .expect("a pid");
        let children =
            std::fs::read_to_string(format!("/proc/{shell}/task/{shell}/children")).expect("reads");
        let mut children = children.split_whitespace();
        let pid = children.next().expect("it runs").parse().expect("a pid");
        assert_eq!(children.next(), None);
        pid
    }

    pub fn signal(&self, name: &str) {
        let pid = self.pid().to_string();
        let sent = Command::new("kill")
            .args(["-s", name, &pid])
            .status()
            .expect("kill");
        assert!(sent.success());
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        self.tmux(["kill-server"]);
    }
}

pub fn titled(env: &TestEnv, title: &str, input: &str) -> String {
    let line = format!(
        "sessions create --environment none --title '{title}' --wait -o id --input '{input}'"
    );
    let ran = env.run(&line);
    assert!(ran.stdout.starts_with("sess_"), "{ran:#?}");
    ran.stdout.trim().to_owned()
}

#[test]
fn a_person_finds_a_session_writes_to_its_agent_sees_the_answer_come_and_cancels() {
    let env = TestEnv::new();
    titled(&env, "the runbook", "@say hello");
    let other = titled(&env, "the importer", "@say hi");
    let tmux = Tmux::new(env, 120, 40);
    tmux.open("");
    tmux.until("both", |screen| {
        screen.contains("the runbook") && screen.contains("the importer")
    });

    tmux.keys(&["/"]);
    tmux.type_in("runbook");
    tmux.keys(&["Enter"]);
    tmux.until("the filter", |screen| {
        screen.contains("the runbook") && !screen.contains("the importer")
    });
    tmux.keys(&["Enter"]);
    let open = tmux.see("agent    hello");
    assert!(!open.contains(&other), "{open}");

    tmux.keys(&["i"]);
    tmux.type_in("@slow 200 one two three four five six seven eight nine ten");
    tmux.keys(&["Enter"]);
    // It is seen while it is written, and again when it is whole.
    tmux.until("a part of the answer", |screen| {
        screen.contains("agent    one two")
            && !screen.contains("agent    one two three four five six seven eight nine ten")
    });
    tmux.see("agent    one two three four five six seven eight nine ten");
    tmux.see("done: rcpt_");

    // A line end that is typed is one in the message.
    tmux.type_in("@say begun\n@sleep 60000");
    tmux.see("begun");
    tmux.keys(&["Enter"]);
    tmux.see("running: rcpt_");
    tmux.keys(&["Escape"]);
    tmux.see("x cancel turn");
    tmux.keys(&["x"]);
    tmux.see("c  cancel this turn");
    tmux.keys(&["Escape"]);
    tmux.see("goes on");
    tmux.keys(&["x"]);
    tmux.see("c  cancel this turn");
    tmux.keys(&["c"]);
    tmux.see("cancelled: turn_");
    tmux.keys(&["q"]);
    tmux.is_given_back("quitting");
}

#[test]
fn the_terminal_is_given_back_whatever_ends_the_screen() {
    let env = TestEnv::new();
    titled(&env, "the runbook", "@say hello");
    let tmux = Tmux::new(env, 80, 24);
    for signal in ["TERM", "HUP", "INT"] {
        tmux.open("tui");
        tmux.see("the runbook");
        tmux.signal(signal);
        tmux.is_given_back(signal);
        tmux.type_in("clear");
        tmux.keys(&["Enter"]);
        tmux.until("a clear screen", |screen| screen.trim() == "ready>");
    }
}

#[test]
fn a_suspended_screen_comes_back_and_fits_a_terminal_that_was_resized() {
    let env = TestEnv::new();
    let session = titled(&env, "the runbook", "@say hello");
    let tmux = Tmux::new(env, 200, 60);
    tmux.open(&format!("tui {session}"));
    tmux.see("agent    hello");
    tmux.keys(&["C-z"]);
    tmux.is_given_back("suspending");
    tmux.type_in("fg");
    tmux.keys(&["Enter"]);
    tmux.until("the screen again", |screen| {
        screen.contains("agent    hello") && !screen.contains("ready>")
    });
    for (columns, rows) in [("80", "24"), ("50", "10"), ("200", "60")] {
        let resized = tmux.tmux(["resize-window", "-x", columns, "-y", rows]);
        assert!(resized.status.success(), "{resized:?}");
        match columns {
            "50" => tmux.see("50x10 is too small"),
            _ => tmux.until("the footer at the bottom", |screen| {
                let last = screen.lines().last().unwrap_or_default();
                let rows: usize = rows.parse().expect("a number");
                screen.lines().count() == rows
                    && last.contains("? help")
                    && screen.contains("agent    hello")
            }),
        };
    }
    tmux.keys(&["C-c"]);
    tmux.see("ctrl-c again quits");
    tmux.keys(&["C-c"]);
    tmux.is_given_back("ctrl-c");
}

#[test]
fn a_message_is_written_in_an_editor() {
    let env = TestEnv::new().with("EDITOR", "printf 'from the editor' >>");
    let session = titled(&env, "the runbook", "@say hello");
    let tmux = Tmux::new(env, 80, 24);
    tmux.open(&format!("tui {session}"));
    tmux.keys(&["i"]);
    tmux.type_in("begun, ");
    tmux.see("begun,");
    tmux.keys(&["C-g"]);
    tmux.see("begun, from the editor");
    tmux.keys(&["Enter"]);
    tmux.see("done: rcpt_");
    let left = std::fs::read_dir(tmux.env.path("tmp"))
        .expect("lists")
        .count();
    assert_eq!(left, 0, "the draft's file is gone");
    tmux.keys(&["Escape"]);
    tmux.see("x cancel turn");
    tmux.keys(&["q"]);
    tmux.is_given_back("quitting");
}

#[test]
fn what_is_copied_is_in_the_buffer_of_tmux() {
    let env = TestEnv::new();
    let session = titled(&env, "the runbook", "@say hello");
    let tmux = Tmux::new(env, 80, 24);
    let set = tmux.tmux(["set-option", "-s", "set-clipboard", "on"]);
    assert!(set.status.success(), "{set:?}");
    let buffer = || String::from_utf8_lossy(&tmux.tmux(["show-buffer"]).stdout).into_owned();
    tmux.open(&format!("tui {session}"));
    tmux.see("agent    hello");
    for (key, expected) in [("Y", session.as_str()), ("y", "hello")] {
        tmux.keys(&[key]);
        tmux.until("it in the buffer", |_| buffer() == expected);
        tmux.see("given to the terminal's clipboard");
    }
    tmux.keys(&["q"]);
    tmux.is_given_back("quitting");
}

#[test]
fn three_hundred_pasted_lines_are_a_draft_and_are_not_sent() {
    let env = TestEnv::new();
    let session = titled(&env, "the runbook", "@say hello");
    let tmux = Tmux::new(env, 80, 24);
    tmux.open(&format!("tui {session}"));
    tmux.see("agent    hello");
    tmux.keys(&["i"]);
    tmux.see("message: starts a Turn");
    let lines: Vec<String> = (1..=300).map(|n| format!("line {n}")).collect();
    let set = tmux.tmux(["set-buffer", &lines.join("\n")]);
    assert!(set.status.success(), "{set:?}");
    let pasted = tmux.tmux(["paste-buffer", "-p"]);
    assert!(pasted.status.success(), "{pasted:?}");
    tmux.see("line 300");
    tmux.keys(&["Escape"]);
    let left = tmux.see("draft: line 1");
    assert!(!left.contains("rcpt_"), "something was sent: {left}");
    assert!(left.contains("agent    hello"), "{left}");
    // It would be lost, so the first key only says so.
    tmux.keys(&["q"]);
    tmux.see("the same key again quits");
    tmux.keys(&["q"]);
    tmux.is_given_back("quitting");
}
