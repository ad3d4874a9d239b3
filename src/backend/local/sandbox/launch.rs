//! Starting one sandbox: the launcher as a child process, the descriptors it inherits, and the identity it runs under.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use rustix::fs::{MemfdFlags, memfd_create};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use tokio::process::{Child, Command};

use super::config::RunAs;
use super::layout::{self, GENERATED, Launch, Shown};
use super::wire::MAX_PACKET_BYTES;

/// What a launch needs, the same for every environment of this process.
pub(super) struct Launcher {
    /// bubblewrap.
    pub(super) bwrap: PathBuf,
    /// Our own program, open.
    pub(super) program: OwnedFd,
    /// Whom to become first; `None` when this process is an ordinary user already.
    pub(super) run_as: Option<RunAs>,
    /// What is shown read-only beside the system.
    pub(super) read_only: Vec<PathBuf>,
    /// Size of each temporary file system.
    pub(super) tmp_bytes: u64,
}

/// A process that was started and speaks to us over `control`.
pub(super) struct Launched {
    /// The launcher, or PID 1 itself without isolation.
    pub(super) child: Child,
    /// Our end of the control socket.
    pub(super) control: OwnedFd,
}

/// Directories that every Linux system may have and that no sandbox is shown: in a mount namespace of its own, the launcher of a
/// root engine finds the workspace there.
const STAGES: &[&str] = &["/mnt", "/media", "/srv", "/boot", "/root", "/home"];

impl Launcher {
    /// Starts the launcher for the environment `id`. It inherits `lock`, and so does PID 1.
    pub(super) fn start(&self, id: &str, workspace: &Path, lock: &OwnedFd) -> io::Result<Launched> {
        let generated = GENERATED
            .iter()
            .map(|(path, content)| memory_file(path, content))
            .collect::<io::Result<Vec<OwnedFd>>>()?;
        let numbers: Vec<RawFd> = generated.iter().map(AsRawFd::as_raw_fd).collect();
        // Anew each time: an upgrade of the machine may have moved things.
        let shown = layout::survey(&self.read_only);
        let demotion = self
            .run_as
            .map(|run_as| Demotion::new(run_as, workspace, &shown, &self.bwrap))
            .transpose()?;
        let args = layout::arguments(&Launch {
            shown: &shown,
            generated: &numbers,
            program: self.program.as_raw_fd(),
            workspace: demotion.as_ref().map_or(workspace, |d| d.stage),
            tmp_bytes: self.tmp_bytes,
            id,
        });
        let mut command = Command::new(&self.bwrap);
        command.args(args);
        let mut inherited = numbers;
        inherited.extend([self.program.as_raw_fd(), lock.as_raw_fd()]);
        spawn(command, inherited, demotion)
    }

    /// Starts PID 1's program as an ordinary process, for isolation `unsafe_none`.
    pub(super) fn start_bare(program: &OwnedFd, id: &str, lock: &OwnedFd) -> io::Result<Launched> {
        let mut command = Command::new(format!("/proc/self/fd/{}", program.as_raw_fd()));
        command.arg(super::init::ROLE).arg(id);
        spawn(command, vec![program.as_raw_fd(), lock.as_raw_fd()], None)
    }
}

/// Common to both: an empty environment, a process group of its own (so that a terminal's Ctrl-C is ours alone), the control
/// socket as standard input and a pipe as standard error.
fn spawn(
    mut command: Command,
    inherited: Vec<RawFd>,
    demotion: Option<Demotion>,
) -> io::Result<Launched> {
    let flags = SocketFlags::CLOEXEC;
    let (control, theirs) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?;
    rustix::io::ioctl_fionbio(&control, true)?;
    rustix::net::sockopt::set_socket_send_buffer_size(&control, 2 * MAX_PACKET_BYTES)?;
    command
        .env_clear()
        .current_dir("/")
        .process_group(0)
        .stdin(Stdio::from(theirs))
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    keep_open(&mut command, inherited);
    if let Some(demotion) = demotion {
        // SAFETY: between fork and exec only system calls are made, on values prepared before the fork.
        unsafe {
            command.pre_exec(move || demotion.apply());
        }
    }
    let child = command.spawn()?;
    Ok(Launched { child, control })
}

/// Lets what a command starts have these descriptors, under their numbers.
pub(in crate::backend) fn keep_open(command: &mut Command, inherited: Vec<RawFd>) {
    // SAFETY: between fork and exec only system calls are made, on values prepared before the fork.
    unsafe {
        command.pre_exec(move || {
            for fd in &inherited {
                // Numbers stay as they are: moving them could hit a descriptor that the standard library still needs here.
                if libc::fcntl(*fd, libc::F_SETFD, 0) < 0 {
                    return Err(io::Error::last_os_error());
                }
            }
            Ok(())
        });
    }
}

/// How a root engine gives up root before the launcher starts. Root inside the sandbox's user namespace is not enough: files are
/// judged by the outer uid, and that of root could open the kernel's own settings for writing.
struct Demotion {
    run_as: RunAs,
    source: std::ffi::CString,
    target: std::ffi::CString,
    /// Where the launcher finds the workspace afterwards.
    stage: &'static Path,
}

impl Demotion {
    fn new(run_as: RunAs, workspace: &Path, shown: &[Shown], bwrap: &Path) -> io::Result<Demotion> {
        use std::os::unix::ffi::OsStrExt;
        // What is mounted there covers what was there.
        let covers = |stage: &str| {
            bwrap.starts_with(stage)
                || shown.iter().any(
                    |shown| matches!(shown, Shown::Bind(source, _) if source.starts_with(stage)),
                )
        };
        let is_dir = |stage: &str| std::fs::symlink_metadata(stage).is_ok_and(|m| m.is_dir());
        let stage = STAGES
            .iter()
            .find(|stage| is_dir(stage) && !covers(stage))
            .ok_or_else(|| io::Error::other(format!("none of {STAGES:?} is free")))?;
        Ok(Demotion {
            run_as,
            source: std::ffi::CString::new(workspace.as_os_str().as_bytes())?,
            target: std::ffi::CString::new(*stage)?,
            stage: Path::new(stage),
        })
    }

    /// In the forked child. The workspace lies behind directories that only root can pass, so it is first bound, in a mount namespace
    /// that only this process and the launcher will ever have, to a place that anybody can pass.
    fn apply(&self) -> io::Result<()> {
        let check = |rc: libc::c_int| match rc {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        };
        let (uid, gid) = (self.run_as.uid, self.run_as.gid);
        let none = std::ptr::null();
        // SAFETY: the strings outlive the calls; everything else is numbers.
        unsafe {
            check(libc::unshare(libc::CLONE_NEWNS))?;
            let private = libc::MS_REC | libc::MS_PRIVATE;
            check(libc::mount(none, c"/".as_ptr(), none, private, none.cast()))?;
            let (source, target) = (self.source.as_ptr(), self.target.as_ptr());
            check(libc::mount(
                source,
                target,
                none,
                libc::MS_BIND,
                none.cast(),
            ))?;
            check(libc::setgroups(0, std::ptr::null()))?;
            check(libc::setresgid(gid, gid, gid))?;
            check(libc::setresuid(uid, uid, uid))
        }
    }
}

/// An anonymous file with this content, read from its beginning.
fn memory_file(name: &str, content: &str) -> io::Result<OwnedFd> {
    use std::io::{Seek, Write};
    let fd = memfd_create(name, MemfdFlags::CLOEXEC)?;
    let mut file = std::fs::File::from(fd);
    file.write_all(content.as_bytes())?;
    file.rewind()?;
    Ok(file.into())
}

/// Ends a launcher that has not finished its set-up: its children first, or they would wait for it for ever.
pub(super) async fn kill_half_started(child: &mut Child) {
    if let Some(pid) = child.id() {
        let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
        for pid in children.unwrap_or_default().split_ascii_whitespace() {
            if let Some(pid) = pid.parse().ok().and_then(rustix::process::Pid::from_raw) {
                let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
            }
        }
    }
    let _ = child.kill().await;
}

/// Opens our own program so that it can be executed whatever path it has, and later even if it has none.
pub(in crate::backend) fn open_program(path: &Path) -> io::Result<OwnedFd> {
    Ok(std::fs::File::open(path)?.into())
}
