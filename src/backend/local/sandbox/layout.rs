//! What a sandbox sees of this machine, and the launcher's argument list that makes it so.
//!
//! Nothing is denied by name: what is not listed here is not there. The order matters, because bubblewrap applies its arguments one
//! after the other and later ones cover earlier ones.

use std::ffi::OsString;
use std::os::fd::RawFd;
use std::path::{Path, PathBuf};

/// Entries of /etc that programs need to run, and that say nothing about this machine's users, services or secrets.
const ETC: &[&str] = &[
    "alternatives",
    "bash.bashrc",
    "ca-certificates",
    "crypto-policies",
    "debian_version",
    "fonts",
    "gai.conf",
    "inputrc",
    "java",
    "java-11-openjdk",
    "java-17-openjdk",
    "java-21-openjdk",
    "java-25-openjdk",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "localtime",
    "magic",
    "magic.mime",
    "mime.types",
    "os-release",
    "perl",
    "pki/ca-trust/extracted",
    "pki/tls/certs",
    "pki/tls/openssl.cnf",
    "profile",
    "protocols",
    "python3",
    "services",
    "ssl/certs",
    "ssl/openssl.cnf",
    "terminfo",
    "timezone",
];

/// Top-level directories that are links into /usr on most systems and directories of their own on some.
const TOP: &[&str] = &["bin", "sbin", "lib", "lib32", "lib64", "libx32"];

/// Files of /etc that a sandbox gets instead of the machine's.
pub(super) const GENERATED: &[(&str, &str)] = &[
    (
        "/etc/passwd",
        "root:x:0:0:root:/:/bin/sh\nagent:x:1000:1000:agent:/home/agent:/bin/bash\n\
         nobody:x:65534:65534:nobody:/:/bin/false\n",
    ),
    ("/etc/group", "root:x:0:\nagent:x:1000:\nnogroup:x:65534:\n"),
    (
        "/etc/hosts",
        "127.0.0.1 localhost sandbox\n::1 localhost sandbox\n",
    ),
    ("/etc/resolv.conf", "# Names are resolved by the proxy.\n"),
    (
        "/etc/nsswitch.conf",
        "passwd: files\ngroup: files\nhosts: files\nservices: files\nprotocols: files\n",
    ),
];

/// One thing of this machine that is shown read-only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::backend) enum Shown {
    /// A directory or file, resolved, at a place in the sandbox.
    Bind(PathBuf, PathBuf),
    /// A symbolic link: (what it says, where).
    Link(PathBuf, PathBuf),
}

/// What this machine has of what a sandbox is shown.
pub(in crate::backend) fn survey(read_only: &[PathBuf]) -> Vec<Shown> {
    let mut shown = vec![Shown::Bind("/usr".into(), "/usr".into())];
    for name in TOP {
        let path = Path::new("/").join(name);
        match std::fs::read_link(&path) {
            Ok(target) => shown.push(Shown::Link(target, path)),
            Err(_) if path.is_dir() => shown.push(Shown::Bind(path.clone(), path)),
            Err(_) => {}
        }
    }
    let etc = ETC.iter().map(|name| Path::new("/etc").join(name));
    for path in etc.chain(read_only.iter().cloned()) {
        // Resolved here: newer launchers refuse sources that are links.
        if let Ok(source) = std::fs::canonicalize(&path) {
            shown.push(Shown::Bind(source, path));
        }
    }
    shown
}

/// Everything one launch depends on.
pub(super) struct Launch<'a> {
    /// What is shown read-only.
    pub(super) shown: &'a [Shown],
    /// Descriptors with the content of [`GENERATED`], in that order.
    pub(super) generated: &'a [RawFd],
    /// Descriptor of our own program.
    pub(super) program: RawFd,
    /// Where the launcher finds the workspace.
    pub(super) workspace: &'a Path,
    /// Size of each temporary file system.
    pub(super) tmp_bytes: u64,
    /// Shown in process lists of the host.
    pub(super) id: &'a str,
}

/// The launcher's arguments.
///
/// Deliberately without `--die-with-parent`: killed in the middle of its set-up, the launcher would leave a process behind that waits
/// for ever; and the death signal follows the thread that started it, not the process. Without it the launcher finishes, PID 1 finds
/// the control socket closed, and everything ends.
pub(super) fn arguments(launch: &Launch<'_>) -> Vec<OsString> {
    let mut args = Args::default();
    args.words("--unshare-user --uid 1000 --gid 1000");
    args.words("--unshare-ipc --unshare-pid --unshare-net --unshare-uts --unshare-cgroup-try");
    args.words("--hostname sandbox --disable-userns --cap-drop ALL --new-session --as-pid-1");
    args.words("--clearenv");
    for shown in launch.shown {
        match shown {
            Shown::Bind(source, target) => args.three("--ro-bind", source, target),
            Shown::Link(says, at) => args.three("--symlink", says, at),
        }
    }
    for ((path, _), fd) in GENERATED.iter().zip(launch.generated) {
        args.words(&format!("--perms 0444 --file {fd} {path}"));
    }
    args.words("--proc /proc --dev /dev");
    let size = launch.tmp_bytes;
    args.words(&format!("--size {size} --perms 1777 --tmpfs /dev/shm"));
    args.words(&format!("--size {size} --perms 1777 --tmpfs /tmp"));
    args.words(&format!("--size {size} --perms 0755 --tmpfs /home/agent"));
    args.words("--dir /run --dir /var/tmp");
    args.three("--bind", launch.workspace, Path::new("/workspace"));
    args.words("--remount-ro /dev --remount-ro / --chdir /workspace");
    args.words(&format!(
        "-- /proc/self/fd/{} {}",
        launch.program,
        super::init::ROLE
    ));
    args.words(launch.id);
    args.0
}

#[derive(Default)]
struct Args(Vec<OsString>);

impl Args {
    fn words(&mut self, words: &str) {
        self.0.extend(words.split(' ').map(OsString::from));
    }

    fn three(&mut self, option: &str, a: &Path, b: &Path) {
        self.0.extend([option.into(), a.into(), b.into()]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn later_arguments_never_cover_the_workspace_and_nothing_is_mounted_in_it() {
        let shown = [
            Shown::Bind("/usr".into(), "/usr".into()),
            Shown::Link("usr/bin".into(), "/bin".into()),
        ];
        let args = arguments(&Launch {
            shown: &shown,
            generated: &[20, 21, 22, 23, 24],
            program: 19,
            workspace: Path::new("/data/with space/workspace"),
            tmp_bytes: 1024,
            id: "env_x",
        });
        let text: Vec<_> = args.iter().map(|a| a.to_str().expect("text")).collect();
        insta::assert_snapshot!(text.join("\n"));
    }

    #[test]
    fn every_shown_source_is_resolved() {
        for shown in survey(&["/proc/self".into()]) {
            if let Shown::Bind(source, _) = shown {
                assert_eq!(std::fs::canonicalize(&source).ok(), Some(source));
            }
        }
    }
}
