//! One machine: how it starts, what is on its loopback, and how it ends.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use rustix::fs::{Mode, OFlags};
use rustix::process::{Pid, Signal};
use rustix::thread::LinkNameSpaceType;

use super::super::ec2::{Ended, Region};
use super::super::listen::{Listening, listen_on};
use super::gate::Gate;
use super::locked;
use super::metadata::{self, Metadata};
use super::relay::{Relay, relay};

const BOOT: &str = include_str!("boot.sh");

/// It ends when it is dropped.
pub(super) struct Machine {
    pub(super) gate: Arc<Gate>,
    life: Arc<Mutex<Life>>,
    console: Arc<Mutex<Vec<u8>>>,
    notice: Arc<Mutex<Option<String>>>,
    /// It also is what the kernel ends the machine with, if this process does not get to it.
    keeper: Option<JoinHandle<()>>,
}

/// Whether a machine lives, and as what.
#[derive(Default)]
struct Life {
    /// Its first process, with which all others end.
    first: Option<Pid>,
    /// It is to end, or has ended, for this reason.
    end: Option<Ended>,
}

impl Machine {
    /// Starts to boot.
    pub(super) fn boot(id: &str, region: Region, ways: Vec<SocketAddr>) -> Machine {
        let mut machine = Machine {
            gate: Arc::new(Gate::new()),
            life: Arc::default(),
            console: Arc::default(),
            notice: Arc::default(),
            keeper: None,
        };
        let service = Metadata::new(id, region.clone(), Arc::clone(&machine.notice));
        let keeper = Keeper {
            id: id.to_owned(),
            region,
            ways,
            gate: Arc::clone(&machine.gate),
            life: Arc::clone(&machine.life),
            console: Arc::clone(&machine.console),
        };
        machine.keeper = Some(std::thread::spawn(move || keeper.keep(service)));
        machine
    }

    /// All its processes are gone, now or as soon as there are any.
    pub(super) fn off(&self, why: Ended) {
        let mut life = locked(&self.life);
        life.end.get_or_insert(why);
        if let Some(first) = life.first {
            // It may have ended by itself.
            let _ = rustix::process::kill_process(first, Signal::KILL);
        }
    }

    /// EC2 will take it back in two minutes.
    pub(super) fn notice(&self) {
        let then = jiff::Timestamp::now() + jiff::SignedDuration::from_mins(2);
        let then = then.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        *locked(&self.notice) = Some(then);
    }

    pub(super) fn console(&self) -> String {
        String::from_utf8_lossy(&locked(&self.console)).into_owned()
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        self.off(Ended::Host);
        if let Some(keeper) = self.keeper.take() {
            drop(keeper.join());
        }
    }
}

/// The thread that starts a machine and waits for its end.
struct Keeper {
    id: String,
    region: Region,
    ways: Vec<SocketAddr>,
    gate: Arc<Gate>,
    life: Arc<Mutex<Life>>,
    console: Arc<Mutex<Vec<u8>>>,
}

impl Keeper {
    fn keep(self, service: Metadata) {
        if let Err(e) = self.run(service) {
            let words = format!("\nthis machine did not start: {e}\n");
            locked(&self.console).extend_from_slice(words.as_bytes());
            locked(&self.life).end.get_or_insert(Ended::Host);
        }
        let why = *locked(&self.life).end.get_or_insert(Ended::Itself);
        self.region.ended(&self.id, why);
    }

    fn run(&self, service: Metadata) -> io::Result<()> {
        let mut child = start()?;
        let ended = self.run_as(&mut child, service);
        if ended.is_err() {
            // Its first process ends with it.
            drop(child.kill());
        }
        // All is gone when this returns: the first process of a machine ends behind all others.
        child.wait()?;
        let mut life = locked(&self.life);
        life.first = None;
        life.end.get_or_insert(Ended::Itself);
        drop(life);
        self.gate.remove();
        ended.map(drop)
    }

    /// Until its end; then its network goes.
    fn run_as(&self, child: &mut Child, service: Metadata) -> io::Result<()> {
        let (input, output, words) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(mut input), Some(output), Some(mut words)) = (input, output, words) else {
            return Err(io::ErrorKind::BrokenPipe.into());
        };
        let console = Arc::clone(&self.console);
        let listening = std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(read @ 1..) = words.read(&mut bytes) {
                locked(&console).extend_from_slice(&bytes[..read]);
            }
        });
        let mut line = String::new();
        let mut output = BufReader::new(output);
        output.read_line(&mut line)?;
        if line.trim_end() != "up" {
            drop(listening.join());
            return Err(io::Error::other("it is not up"));
        }
        let first = only_child(child.id())?;
        let network = self.network(child.id(), service)?;
        let off = {
            let mut life = locked(&self.life);
            life.first = Some(first);
            life.end.is_some()
        };
        if off {
            let _ = rustix::process::kill_process(first, Signal::KILL);
        } else {
            self.region.up(&self.id);
            let data = self.region.look(&self.id, |instance| instance.user_data());
            // It may be switched off while it reads.
            drop(input.write_all(data.unwrap_or_default().as_bytes()));
        }
        drop(input);
        // Nothing more comes, so that this is its end.
        drop(output.read_line(&mut line));
        drop(listening.join());
        drop(network);
        Ok(())
    }

    /// What is on a machine's loopback: the metadata service, and ways out.
    fn network(&self, pid: u32, service: Metadata) -> io::Result<(Listening, Vec<Relay>)> {
        let mut addresses = vec![format!("{}:80", metadata::ADDRESS)];
        addresses.extend(self.ways.iter().map(SocketAddr::to_string));
        // Only this thread goes there. What it makes stays there.
        let there = std::thread::spawn(move || listeners(pid, &addresses));
        let there = there
            .join()
            .map_err(|_| io::Error::other("a thread failed"))?;
        let mut listeners = there?.into_iter();
        let first = listeners.next().ok_or(io::ErrorKind::NotFound)?;
        let service = listen_on(first, move |request| service.answer(request))?;
        let relays = listeners.zip(&self.ways);
        let relays = relays.map(|(listener, to)| relay(listener, *to, Arc::clone(&self.gate)));
        Ok((service, relays.collect::<io::Result<_>>()?))
    }
}

/// A process with namespaces of its own for itself and for its child, which boots.
fn start() -> io::Result<Child> {
    // The kernel ends the child with the thread that started it, and the child's own with the child.
    let mut command = Command::new("setpriv");
    command.args([
        "--pdeathsig",
        "KILL",
        "unshare",
        "--net",
        "--mount",
        "--pid",
        "--uts",
        "--ipc",
    ]);
    command.args([
        "--kill-child=KILL",
        "sh",
        "-c",
        BOOT,
        "boot",
        metadata::ADDRESS,
    ]);
    // This program and what it is built from are on no other machine.
    command.arg(env!("CARGO_MANIFEST_DIR"));
    command.args(Path::new(env!("CARGO_TARGET_TMPDIR")).parent());
    let path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
    command.env_clear().env("PATH", path);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command.spawn()
}

/// Listens in the network of a process.
fn listeners(pid: u32, addresses: &[String]) -> io::Result<Vec<TcpListener>> {
    let path = format!("/proc/{pid}/ns/net");
    let network = rustix::fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
    let kind = Some(LinkNameSpaceType::Network);
    rustix::thread::move_into_link_name_space(std::os::fd::AsFd::as_fd(&network), kind)?;
    addresses.iter().map(TcpListener::bind).collect()
}

fn only_child(pid: u32) -> io::Result<Pid> {
    let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"))?;
    let child = children
        .split_whitespace()
        .next()
        .and_then(|child| child.parse().ok());
    child
        .and_then(Pid::from_raw)
        .ok_or_else(|| io::Error::other("it has no process"))
}
