//! What the engine and PID 1 of a sandbox say to one another: one packet a message, over a `SOCK_SEQPACKET` pair.
//!
//! Not a format that anyone stores: both ends are the same binary. File descriptors travel beside a packet (`SCM_RIGHTS`); the
//! message says which ones belong to it. Text is length-prefixed, so a script costs its own length and nothing more.

use std::collections::BTreeMap;

use crate::engine::ports::Program;

/// Packets are at most this long: a socket buffer of Linux's default size takes them.
pub(super) const MAX_PACKET_BYTES: usize = 192 << 10;

/// Where PID 1 listens for the proxy, inside the sandbox.
pub(super) const PROXY_PORT: u16 = 3128;

/// Descriptors that may travel with one packet.
pub(super) const MAX_FDS: usize = 3;

/// From the engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Request {
    /// The first packet: what holds for every command.
    Setup(Setup),
    /// Run a command. With it travel its output, its input unless that is empty, and its standard error where that goes elsewhere.
    Spawn {
        /// Chosen by the engine, never reused.
        id: u64,
        /// What to run.
        command: Command,
    },
    /// End this command's whole tree.
    End {
        /// The command.
        id: u64,
    },
}

/// What holds for every command of one sandbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Setup {
    /// Whether this is PID 1 of a namespace of its own. If not, it is an ordinary process of the host: nothing outside its own
    /// descendants may be touched.
    pub(super) sandboxed: bool,
    /// Whether to listen for the proxy.
    pub(super) proxy: bool,
    /// Directory whose file system must keep `free_space_bytes`.
    pub(super) workspace: String,
    /// Tasks (processes and threads) of the sandbox.
    pub(super) processes: u64,
    /// Memory of all its processes, and of any one.
    pub(super) memory_bytes: u64,
    /// Largest file a command may write.
    pub(super) file_bytes: u64,
    /// CPU time of one process.
    pub(super) cpu_seconds: u64,
    /// Commands are ended rather than letting the workspace's disk fall below this.
    pub(super) free_space_bytes: u64,
}

/// One command, with everything it is given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Command {
    /// What to execute.
    pub(super) program: Program,
    /// Where.
    pub(super) cwd: String,
    /// Its whole environment.
    pub(super) env: BTreeMap<String, String>,
}

/// From PID 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Reply {
    /// Setup is done. With it travels the proxy's listening socket, if one was asked for.
    Ready,
    /// The command never ran.
    NotStarted {
        /// The command.
        id: u64,
        /// In words.
        reason: String,
    },
    /// The command's main process ended. What it left in the background may go on.
    Exited {
        /// The command.
        id: u64,
        /// How.
        status: Status,
    },
    /// The command's whole tree is gone.
    Ended {
        /// The command.
        id: u64,
    },
    /// A bound of the whole sandbox was passed and processes were killed for it.
    Exceeded {
        /// Which bound, in words.
        what: String,
    },
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Status {
    /// With this exit code.
    Code(i32),
    /// By this signal.
    Signal(i32),
}

/// A packet that does not have the form of a message: the other end is not what it should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a malformed packet on the control socket")]
pub(super) struct Malformed;

impl Request {
    /// The packet.
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut w = Writer::default();
        match self {
            Request::Setup(setup) => {
                w.byte(1);
                w.byte(u8::from(setup.sandboxed));
                w.byte(u8::from(setup.proxy));
                w.text(&setup.workspace);
                for number in [
                    setup.processes,
                    setup.memory_bytes,
                    setup.file_bytes,
                    setup.cpu_seconds,
                    setup.free_space_bytes,
                ] {
                    w.number(number);
                }
            }
            Request::Spawn { id, command } => {
                w.byte(2);
                w.number(*id);
                w.program(&command.program);
                w.text(&command.cwd);
                w.number(command.env.len() as u64);
                for (name, value) in &command.env {
                    w.text(name);
                    w.text(value);
                }
            }
            Request::End { id } => {
                w.byte(3);
                w.number(*id);
            }
        }
        w.0
    }

    /// The message in a packet.
    pub(super) fn decode(packet: &[u8]) -> Result<Request, Malformed> {
        let mut r = Reader(packet);
        let request = match r.byte()? {
            1 => Request::Setup(Setup {
                sandboxed: r.byte()? != 0,
                proxy: r.byte()? != 0,
                workspace: r.text()?,
                processes: r.number()?,
                memory_bytes: r.number()?,
                file_bytes: r.number()?,
                cpu_seconds: r.number()?,
                free_space_bytes: r.number()?,
            }),
            2 => {
                let id = r.number()?;
                let program = r.program()?;
                let cwd = r.text()?;
                let mut env = BTreeMap::new();
                for _ in 0..r.number()? {
                    let name = r.text()?;
                    env.insert(name, r.text()?);
                }
                let command = Command { program, cwd, env };
                Request::Spawn { id, command }
            }
            3 => Request::End { id: r.number()? },
            _ => return Err(Malformed),
        };
        r.end()?;
        Ok(request)
    }
}

impl Reply {
    /// The packet.
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut w = Writer::default();
        match self {
            Reply::Ready => w.byte(1),
            Reply::NotStarted { id, reason } => {
                w.byte(2);
                w.number(*id);
                w.text(reason);
            }
            Reply::Exited { id, status } => {
                w.byte(3);
                w.number(*id);
                let (tag, value) = match *status {
                    Status::Code(code) => (0, code),
                    Status::Signal(signal) => (1, signal),
                };
                w.byte(tag);
                w.number(value as u64);
            }
            Reply::Ended { id } => {
                w.byte(4);
                w.number(*id);
            }
            Reply::Exceeded { what } => {
                w.byte(5);
                w.text(what);
            }
        }
        w.0
    }

    /// The message in a packet.
    pub(super) fn decode(packet: &[u8]) -> Result<Reply, Malformed> {
        let mut r = Reader(packet);
        let reply = match r.byte()? {
            1 => Reply::Ready,
            2 => Reply::NotStarted {
                id: r.number()?,
                reason: r.text()?,
            },
            3 => Reply::Exited {
                id: r.number()?,
                status: match (r.byte()?, r.number()? as i32) {
                    (0, code) => Status::Code(code),
                    (1, signal) => Status::Signal(signal),
                    _ => return Err(Malformed),
                },
            },
            4 => Reply::Ended { id: r.number()? },
            5 => Reply::Exceeded { what: r.text()? },
            _ => return Err(Malformed),
        };
        r.end()?;
        Ok(reply)
    }
}

#[derive(Default)]
struct Writer(Vec<u8>);

impl Writer {
    fn byte(&mut self, value: u8) {
        self.0.push(value);
    }

    fn number(&mut self, value: u64) {
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    fn text(&mut self, value: &str) {
        self.number(value.len() as u64);
        self.0.extend_from_slice(value.as_bytes());
    }

    fn program(&mut self, program: &Program) {
        match program {
            Program::Shell(script) => {
                self.byte(1);
                self.text(script);
            }
            Program::Argv(argv) => {
                self.byte(2);
                self.number(argv.len() as u64);
                for arg in argv {
                    self.text(arg);
                }
            }
            Program::ApplyPatch => self.byte(3),
        }
    }
}

struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn take(&mut self, n: usize) -> Result<&[u8], Malformed> {
        let (taken, rest) = self.0.split_at_checked(n).ok_or(Malformed)?;
        self.0 = rest;
        Ok(taken)
    }

    fn byte(&mut self) -> Result<u8, Malformed> {
        Ok(self.take(1)?[0])
    }

    fn number(&mut self) -> Result<u64, Malformed> {
        let bytes = self.take(8)?.try_into().map_err(|_| Malformed)?;
        Ok(u64::from_le_bytes(bytes))
    }

    fn text(&mut self) -> Result<String, Malformed> {
        let n = usize::try_from(self.number()?).map_err(|_| Malformed)?;
        String::from_utf8(self.take(n)?.to_vec()).map_err(|_| Malformed)
    }

    fn program(&mut self) -> Result<Program, Malformed> {
        Ok(match self.byte()? {
            1 => Program::Shell(self.text()?),
            2 => {
                let mut argv = Vec::new();
                for _ in 0..self.number()? {
                    argv.push(self.text()?);
                }
                Program::Argv(argv)
            }
            3 => Program::ApplyPatch,
            _ => return Err(Malformed),
        })
    }

    fn end(&self) -> Result<(), Malformed> {
        if self.0.is_empty() {
            Ok(())
        } else {
            Err(Malformed)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn spawn(program: Program) -> Request {
        let env = BTreeMap::from([
            ("A".to_owned(), "1\n2".to_owned()),
            ("B".to_owned(), String::new()),
        ]);
        let cwd = "/workspace/ä".to_owned();
        Request::Spawn {
            id: 7,
            command: Command { program, cwd, env },
        }
    }

    #[test]
    fn messages_survive_the_socket() {
        let setup = Setup {
            sandboxed: true,
            proxy: false,
            workspace: "/workspace".into(),
            processes: 1,
            memory_bytes: 2,
            file_bytes: 3,
            cpu_seconds: 4,
            free_space_bytes: u64::MAX,
        };
        for request in [
            Request::Setup(setup),
            spawn(Program::Shell("echo \"$A\"".into())),
            spawn(Program::Argv(vec!["a".into(), String::new(), "b c".into()])),
            spawn(Program::ApplyPatch),
            Request::End { id: u64::MAX },
        ] {
            assert_eq!(Request::decode(&request.encode()), Ok(request));
        }
        for reply in [
            Reply::Ready,
            Reply::NotStarted {
                id: 1,
                reason: "no".into(),
            },
            Reply::Exited {
                id: 2,
                status: Status::Code(-1),
            },
            Reply::Exited {
                id: 3,
                status: Status::Signal(9),
            },
            Reply::Ended { id: 4 },
            Reply::Exceeded {
                what: "memory".into(),
            },
        ] {
            assert_eq!(Reply::decode(&reply.encode()), Ok(reply));
        }
    }

    proptest! {
        #[test]
        fn noise_is_refused_without_panic(bytes: Vec<u8>) {
            let _ = Request::decode(&bytes);
            let _ = Reply::decode(&bytes);
        }
    }
}
