//! The program on a terminal of the bench's own: keys go in, the screen and the times of its bytes come out.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

/// How long anything may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// See the module.
pub struct Terminal {
    master: File,
    child: Child,
    pieces: Receiver<(Instant, Vec<u8>)>,
    screen: vt100::Parser,
    /// Bytes that came so far.
    pub bytes: usize,
}

impl Terminal {
    /// Starts a command on a terminal of so many columns and rows.
    pub fn start(mut command: Command, (columns, rows): (u16, u16)) -> io::Result<Terminal> {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let master = openpt(flags)?;
        grantpt(&master)?;
        unlockpt(&master)?;
        let name = ptsname(&master, Vec::new())?;
        let size = Winsize {
            ws_row: rows,
            ws_col: columns,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        tcsetwinsize(&master, size)?;
        let path = String::from_utf8_lossy(name.as_bytes()).into_owned();
        let slave = || {
            let mut options = File::options();
            let options = options.read(true).write(true);
            options.custom_flags(libc::O_NOCTTY).open(&path)
        };
        let child = command
            .stdin(Stdio::from(slave()?))
            .stdout(Stdio::from(slave()?))
            .stderr(Stdio::null())
            .spawn()?;
        let master = File::from(master);
        let mut from = master.try_clone()?;
        let (tell, pieces) = channel();
        std::thread::spawn(move || {
            let mut space = [0; 64 << 10];
            // The read fails when the last process on the terminal has left.
            while let Ok(n @ 1..) = from.read(&mut space) {
                if tell.send((Instant::now(), space[..n].to_vec())).is_err() {
                    return;
                }
            }
        });
        let cells = |n| std::num::NonZero::new(n).unwrap_or(std::num::NonZero::<u16>::MIN);
        Ok(Terminal {
            master,
            child,
            pieces,
            screen: vt100::Parser::new(cells(rows), cells(columns), 0),
            bytes: 0,
        })
    }

    /// The program's process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Types.
    pub fn type_in(&mut self, keys: &str) -> io::Result<()> {
        self.master.write_all(keys.as_bytes())
    }

    /// Takes in what comes for so long; when the last of it came.
    pub fn listen(&mut self, time: Duration) -> Option<Instant> {
        let end = Instant::now() + time;
        let mut last = None;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            match self.pieces.recv_timeout(left) {
                Ok((at, piece)) => {
                    self.take(&piece);
                    last = Some(at);
                }
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return last,
            }
        }
    }

    /// Waits until the screen is so; when the bytes came that made it so.
    pub fn until(&mut self, what: &str, is_so: impl Fn(&str) -> bool) -> io::Result<Instant> {
        let end = Instant::now() + PATIENCE;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            let Ok((at, piece)) = self.pieces.recv_timeout(left) else {
                let screen = self.screen.screen().contents();
                return Err(io::Error::other(format!("not reached: {what}\n{screen}")));
            };
            self.take(&piece);
            if is_so(&self.screen.screen().contents()) {
                return Ok(at);
            }
        }
    }

    fn take(&mut self, piece: &[u8]) {
        self.bytes += piece.len();
        self.screen.process(piece);
    }

    /// Memory of the program now, KiB.
    pub fn memory_kib(&self) -> io::Result<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let number = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
        number.ok_or_else(|| io::Error::other("no VmRSS"))
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // It may be gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
