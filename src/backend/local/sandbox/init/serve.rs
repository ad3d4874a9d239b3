//! The loop of PID 1: requests in, reports and ended children out, bounds watched while anything runs.

use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};
use seccompiler::BpfProgram;

use super::super::packet;
use super::super::wire::{Command, MAX_PACKET_BYTES, Reply, Request, Setup, Status};
use super::family::Family;
use super::watch::{self, Excess};
use super::{last_errno, open_null, procs, shim};

/// How long stopping and killing a tree by name goes on before everything in the sandbox is killed at once.
const PATIENCE: Duration = Duration::from_millis(400);
/// How long it may take after that before PID 1 gives itself up, and with it everything.
const LAST_RESORT: Duration = Duration::from_millis(1_500);

/// PID 1 at work.
pub(super) struct Server {
    control: OwnedFd,
    signals: OwnedFd,
    setup: Setup,
    filters: Vec<BpfProgram>,
    families: BTreeMap<u64, Family>,
    /// Children that were reaped and are not yet accounted for.
    dead: Vec<(i32, Status)>,
    own_pid: i32,
}

/// The engine is gone, or everything must go.
struct Over;

impl Server {
    /// Ready to serve.
    pub(super) fn new(
        control: OwnedFd,
        signals: OwnedFd,
        setup: Setup,
        filters: Vec<BpfProgram>,
    ) -> Server {
        Server {
            control,
            signals,
            setup,
            filters,
            families: BTreeMap::new(),
            dead: Vec::new(),
            // SAFETY: takes no arguments and cannot fail.
            own_pid: unsafe { libc::getpid() },
        }
    }

    /// Works until the control socket closes; answers once nothing is left.
    pub(super) fn serve(mut self) {
        let mut buffer = vec![0; MAX_PACKET_BYTES];
        let mut watched = Instant::now();
        while self.turn(&mut buffer, &mut watched).is_ok() {}
        self.end_everything();
    }

    fn turn(&mut self, buffer: &mut [u8], watched: &mut Instant) -> Result<(), Over> {
        let (request, children) = self.wait(*watched)?;
        if children {
            drain(&self.signals);
        }
        self.settle()?;
        if request {
            self.take_request(buffer)?;
        }
        if !self.families.is_empty() && watched.elapsed() >= watch::interval(&self.setup) {
            self.watch()?;
            *watched = Instant::now();
        }
        Ok(())
    }

    /// Sleeps until there is something to do: (a request, an ended child).
    fn wait(&self, watched: Instant) -> Result<(bool, bool), Over> {
        let mut fds = vec![
            PollFd::new(&self.control, PollFlags::IN),
            PollFd::new(&self.signals, PollFlags::IN),
        ];
        let reports = self.families.values().filter_map(Family::report);
        fds.extend(reports.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)));
        // An idle sandbox sleeps for good.
        let timeout = (!self.families.is_empty()).then(|| {
            let left = watch::interval(&self.setup).saturating_sub(watched.elapsed());
            let left = left.max(Duration::from_millis(1));
            Timespec {
                tv_sec: i64::try_from(left.as_secs()).unwrap_or(1),
                tv_nsec: left.subsec_nanos().into(),
            }
        });
        match poll(&mut fds, timeout.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(_) => return Err(Over),
        }
        Ok((!fds[0].revents().is_empty(), !fds[1].revents().is_empty()))
    }

    fn take_request(&mut self, buffer: &mut [u8]) -> Result<(), Over> {
        let got = packet::receive(&self.control, buffer).map_err(|_| Over)?;
        if got.size_bytes == 0 {
            return Err(Over);
        }
        match Request::decode(&buffer[..got.size_bytes]) {
            Ok(Request::Spawn { id, command }) => self.spawn(id, &command, got.fds),
            Ok(Request::End { id }) => self.end(id),
            Ok(Request::Setup(_)) | Err(_) => Err(Over),
        }
    }

    fn reply(&self, reply: &Reply) -> Result<(), Over> {
        packet::send(&self.control, &reply.encode(), &[]).map_err(|_| Over)
    }

    fn spawn(&mut self, id: u64, command: &Command, fds: Vec<OwnedFd>) -> Result<(), Over> {
        let outcome = match watch::disk(&self.setup) {
            Some(excess) => Err(excess.to_string()),
            None => self.fork_shim(id, command, fds),
        };
        match outcome {
            Ok(family) => {
                self.families.insert(id, family);
                Ok(())
            }
            Err(reason) => self.reply(&Reply::NotStarted { id, reason }),
        }
    }

    fn fork_shim(&self, id: u64, command: &Command, fds: Vec<OwnedFd>) -> Result<Family, String> {
        let failed = |e: Errno| format!("no process could be started: {e}");
        let mut fds = fds.into_iter();
        let output = fds.next().ok_or("the command came without its output")?;
        let input = match fds.next() {
            Some(input) => input,
            None => open_null().map_err(failed)?,
        };
        let errors = fds.next();
        let (ours, report) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK).map_err(failed)?;
        // SAFETY: this process is single-threaded, so the child may do anything; it never returns from here.
        match unsafe { libc::fork() } {
            0 => shim::run(shim::Task {
                command,
                setup: &self.setup,
                filters: &self.filters,
                input,
                output,
                errors,
                report,
            }),
            pid if pid > 0 => Ok(Family::new(id, pid, ours, command)),
            _ => Err(failed(last_errno())),
        }
    }

    /// Reaps every ended child without waiting.
    fn reap(&mut self) {
        loop {
            let mut status = 0;
            // SAFETY: status outlives the call.
            let pid = unsafe { libc::waitpid(-1, &mut status, libc::WNOHANG) };
            if pid <= 0 {
                return;
            }
            self.dead.push((pid, shim::status_of(status)));
        }
    }

    /// Accounts for what shims reported and for children that ended, and tells the engine.
    fn settle(&mut self) -> Result<(), Over> {
        // First reap, then read: whatever a dead shim reported is in its pipe by then.
        self.reap();
        let mut replies: Vec<Reply> = self
            .families
            .values_mut()
            .filter_map(Family::take_reports)
            .collect();
        for (pid, status) in std::mem::take(&mut self.dead) {
            for family in self.families.values_mut() {
                if family.shim == Some(pid) {
                    family.shim = None;
                } else if family.main == Some(pid) {
                    // It fell to us because its shim was killed.
                    replies.extend(family.exited(status));
                }
            }
        }
        for family in self
            .families
            .values_mut()
            .filter(|family| family.shim.is_none())
        {
            // Without its shim a command is ours. If it is not, it was killed together with its shim before it was even reported.
            if !family.main.is_some_and(is_child) {
                replies.extend(family.exited(Status::Signal(libc::SIGKILL)));
            }
        }
        self.families
            .retain(|_, f| f.shim.is_some() || f.main.is_some());
        replies.iter().try_for_each(|reply| self.reply(reply))
    }

    /// Ends one family, and whatever fell to PID 1 because its shim was killed.
    fn end(&mut self, id: u64) -> Result<(), Over> {
        let shim = self.families.get_mut(&id).and_then(|family| {
            family.told = true;
            family.shim
        });
        let spared: BTreeSet<i32> = self
            .families
            .values()
            .filter(|family| family.id != id)
            .filter_map(|family| family.shim)
            .collect();
        self.kill_tree(shim, &spared)?;
        self.settle()?;
        self.reply(&Reply::Ended { id })
    }

    /// Stops, then kills, until a look at the process table finds nobody. A stopped process cannot fork, so this converges.
    fn kill_tree(&mut self, root: Option<i32>, spared: &BTreeSet<i32>) -> Result<(), Over> {
        let began = Instant::now();
        let mut stopped = BTreeSet::new();
        loop {
            let table = procs::table();
            let mut roots = procs::children(&table, self.own_pid);
            roots.extend(root);
            let living: Vec<i32> = procs::below(&table, &roots, spared)
                .into_iter()
                .filter(|pid| table.get(pid).is_some_and(|p| !p.zombie))
                .collect();
            self.reap();
            if living.is_empty() {
                return Ok(());
            }
            if began.elapsed() > LAST_RESORT {
                return Err(Over);
            }
            if began.elapsed() > PATIENCE && self.setup.sandboxed {
                kill(-1, libc::SIGKILL);
            }
            let unseen: Vec<i32> = living
                .iter()
                .copied()
                .filter(|p| stopped.insert(*p))
                .collect();
            if unseen.is_empty() {
                living.iter().for_each(|pid| kill(*pid, libc::SIGKILL));
                std::thread::sleep(Duration::from_millis(1));
            } else {
                unseen.iter().for_each(|pid| kill(*pid, libc::SIGSTOP));
            }
        }
    }

    fn watch(&mut self) -> Result<(), Over> {
        let shims: BTreeSet<i32> = self.families.values().filter_map(|f| f.shim).collect();
        if let Some((excess, victims)) = watch::memory(&self.setup, self.own_pid, &shims) {
            victims.iter().for_each(|pid| kill(*pid, libc::SIGKILL));
            self.exceeded(&excess)?;
        }
        if let Some(excess) = watch::disk(&self.setup) {
            self.kill_tree(None, &BTreeSet::new())?;
            self.exceeded(&excess)?;
        }
        Ok(())
    }

    fn exceeded(&self, excess: &Excess) -> Result<(), Over> {
        let what = excess.to_string();
        self.reply(&Reply::Exceeded { what })
    }

    /// The engine is gone. Whoever waits for the environment's lock must find nobody alive when it becomes free.
    fn end_everything(&mut self) {
        if self.setup.sandboxed {
            kill(-1, libc::SIGKILL);
            // SAFETY: a null status is allowed.
            while unsafe { libc::waitpid(-1, std::ptr::null_mut(), 0) } > 0 {}
        } else {
            let _ = self.kill_tree(None, &BTreeSet::new());
        }
    }
}

fn drain(signals: &OwnedFd) {
    let mut record = [0; size_of::<libc::signalfd_siginfo>()];
    while rustix::io::read(signals.as_fd(), &mut record).is_ok_and(|n| n > 0) {}
}

/// Whether it is our child, running or ended.
fn is_child(pid: i32) -> bool {
    let look = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
    // SAFETY: an all-zero siginfo is valid, and it outlives the call.
    unsafe {
        let mut info = std::mem::zeroed();
        libc::waitid(libc::P_PID, pid.unsigned_abs(), &mut info, look) == 0
    }
}

fn kill(pid: i32, signal: i32) {
    // SAFETY: touches no memory. A process that is gone already answers with an error nobody needs.
    unsafe { libc::kill(pid, signal) };
}
