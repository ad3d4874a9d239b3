//! A terminal of our own: the program on one end, the test on the other.

use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use super::env::{PATIENCE, PROGRAM, TestEnv, words};

/// A command on a terminal.
pub struct Terminal {
    master: File,
    child: Child,
    seen: Arc<Mutex<Vec<u8>>>,
    reader: Option<std::thread::JoinHandle<()>>,
}

impl Terminal {
    /// Starts a command on a terminal of this size.
    pub fn start(env: &TestEnv, columns: u16, line: &str) -> Terminal {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let master = openpt(flags).expect("a terminal");
        grantpt(&master).expect("granted");
        unlockpt(&master).expect("unlocked");
        let name = ptsname(&master, Vec::new()).expect("a name");
        let size = Winsize {
            ws_row: 24,
            ws_col: columns,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        tcsetwinsize(&master, size).expect("sized");
        let slave = || {
            let path = std::str::from_utf8(name.as_bytes()).expect("ASCII");
            File::options()
                .read(true)
                .write(true)
                .custom_flags(libc::O_NOCTTY)
                .open(path)
                .expect("opens")
        };
        // `setsid --ctty` makes it the controlling terminal, so that ^C is a signal.
        let child = Command::new("setsid")
            .args(["--ctty", "--wait", PROGRAM])
            .args(words(line))
            .env_clear()
            .envs(env.vars().iter().map(|(name, value)| (name, value)))
            .current_dir(env.path(""))
            .stdin(Stdio::from(slave()))
            .stdout(Stdio::from(slave()))
            .stderr(Stdio::from(slave()))
            .spawn()
            .expect("setsid is part of every Linux");
        let master = File::from(master);
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (mut from, to) = (master.try_clone().expect("clones"), Arc::clone(&seen));
        let reader = std::thread::spawn(move || {
            let mut space = [0; 4096];
            // The read fails when the last process on the terminal has left.
            while let Ok(n @ 1..) = from.read(&mut space) {
                to.lock().expect("not poisoned").extend(&space[..n]);
            }
        });
        Terminal {
            master,
            child,
            seen,
            reader: Some(reader),
        }
    }

    /// Everything that was written so far, with the terminal's line ends made ordinary.
    pub fn seen(&self) -> String {
        let bytes = self.seen.lock().expect("not poisoned").clone();
        String::from_utf8(bytes)
            .expect("UTF-8")
            .replace("\r\n", "\n")
    }

    /// Waits until this was written.
    pub fn wait_for(&self, text: &str) {
        let deadline = Instant::now() + PATIENCE;
        while !self.seen().contains(text) {
            assert!(
                Instant::now() < deadline,
                "{text:?} was not written:\n{}",
                self.seen()
            );
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Types.
    pub fn type_in(&mut self, keys: &str) {
        self.master.write_all(keys.as_bytes()).expect("types");
    }

    /// Waits for the end: everything that was written, and the exit code.
    pub fn end(mut self) -> (String, i32) {
        let status = self.child.wait().expect("ends");
        if let Some(reader) = self.reader.take() {
            reader.join().expect("reads");
        }
        (self.seen(), status.code().unwrap_or(-1))
    }
}
