//! A model of a power cut: the database is on an ext4 image that is mounted through a loop device; the writer is stopped, the image is
//! copied as it is at that moment, and the copy is mounted and read. What had not been synced is in the page cache of the stopped
//! system alone, and so it is gone.
//!
//! The model has no torn sectors and no device that reorders. That it bites is shown by a writer that does not sync: it is caught
//! losing what it had acknowledged. Kill -9 can't show that, because the page cache survives a process.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rat_things::backend::local::store::{Durability, SqliteStore, StoreOptions};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::store_child::{Job, Proof, noted, prove, skip, until};

/// Size of the image.
const IMAGE_BYTES: u64 = 48 << 20;

/// Cuts of the writer that keeps its promise.
const CUTS: usize = 12;

/// Cuts that a writer without syncs may survive by luck, at most.
const LUCK: usize = 12;

#[test]
fn p59_a_power_cut_loses_nothing_acknowledged_and_is_seen_to_bite() {
    if let Err(reason) = possible() {
        skip(
            "a_power_cut_loses_nothing_acknowledged_and_is_seen_to_bite",
            &reason,
        );
        return;
    }
    for cut in 0..CUTS {
        let proof = power_cut(Durability::Full, cut);
        assert!(proof.acknowledged > 0, "{proof:?}");
        assert_eq!((proof.lost, proof.damaged), (0, 0), "cut {cut}: {proof:?}");
    }
    let caught = (0..LUCK).any(|cut| {
        let proof = power_cut(Durability::ProcessOnly, cut);
        // Without syncs commits are lost, but never half of one.
        assert_eq!(proof.damaged, 0, "{proof:?}");
        proof.lost > 0
    });
    assert!(
        caught,
        "{LUCK} cuts of a writer that does not sync lost nothing: the model does not bite"
    );
}

/// Starts a writer, cuts its power and looks at what is left.
fn power_cut(durability: Durability, cut: usize) -> Proof {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let image = dir.path().join("disk");
    make_image(&image);
    let disk = Mounted::new(&image, dir.path().join("mnt")).expect("it was possible before");
    let acks = dir.path().join("acks");
    let job = Job {
        database: disk.path.join("store.db"),
        acks: acks.clone(),
        tasks: 4,
        process: 0,
        steps: 0,
        durability,
    };
    let child = job.start();
    let steps = 150 + 97 * cut;
    until("the child has written", || noted(&acks) >= steps);
    let pid = i32::try_from(child.0.id())
        .ok()
        .and_then(Pid::from_raw)
        .expect("a pid");
    kill_process(pid, Signal::STOP).expect("it is ours");
    until("the child is stopped", || is_stopped(child.0.id()));
    let copy = dir.path().join("copy");
    fs::copy(&image, &copy).expect("the image is copied");
    drop(child);
    drop(disk);

    let disk = Mounted::new(&copy, dir.path().join("mnt-copy")).expect("the copy is mounted");
    let store = SqliteStore::open(&disk.path.join("store.db"), StoreOptions::default());
    let store = store.expect("it opens after a power cut");
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let proof = runtime.block_on(prove(&store, &acks));
    let health = runtime.block_on(store.check()).expect("it can be read");
    assert_eq!(health.problems, Vec::<String>::new());
    drop(store);
    proof
}

/// Every thread of the process is stopped, so nothing of it writes any more.
fn is_stopped(pid: u32) -> bool {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).expect("the child lives");
    tasks.flatten().all(|task| {
        let stat = fs::read_to_string(task.path().join("stat")).unwrap_or_default();
        // The state follows the name, which is in parentheses.
        stat.rsplit(')')
            .next()
            .is_some_and(|rest| rest.trim_start().starts_with('T'))
    })
}

fn make_image(image: &Path) {
    let file = File::create(image).expect("a file");
    file.set_len(IMAGE_BYTES).expect("it is sparse");
    let made = mkfs()
        .args(["-q", "-F", "-E", "lazy_itable_init=0"])
        .arg(image)
        .stderr(Stdio::null())
        .status();
    assert!(
        made.is_ok_and(|status| status.success()),
        "mkfs.ext4 makes an image"
    );
}

/// The program that makes file systems; not every PATH has its directory.
fn mkfs() -> Command {
    let path = std::env::var("PATH").unwrap_or_default();
    let mut command = Command::new("mkfs.ext4");
    command.env("PATH", format!("{path}:/usr/sbin:/sbin"));
    command
}

/// A loop mount, until dropped.
struct Mounted {
    path: PathBuf,
}

impl Mounted {
    fn new(image: &Path, path: PathBuf) -> Result<Mounted, String> {
        fs::create_dir(&path).map_err(|e| e.to_string())?;
        let mount = Command::new("mount")
            .args(["-o", "loop"])
            .args([image, &path])
            .output()
            .map_err(|e| e.to_string())?;
        if !mount.status.success() {
            return Err(String::from_utf8_lossy(&mount.stderr).trim().to_owned());
        }
        Ok(Mounted { path })
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        // Whoever used it is gone; what can't be unmounted at once is when its last user ends.
        let _ = Command::new("umount").arg("-l").arg(&self.path).status();
    }
}

/// Whether this machine can make and mount images.
fn possible() -> Result<(), String> {
    if !rustix::process::geteuid().is_root() {
        return Err("it needs root to mount disk images".to_owned());
    }
    let found = mkfs().arg("-V").output();
    if found.is_err() {
        return Err("mkfs.ext4 is not installed".to_owned());
    }
    let dir: TempDir = tempfile::tempdir().map_err(|e| e.to_string())?;
    let image = dir.path().join("disk");
    make_image(&image);
    Mounted::new(&image, dir.path().join("mnt"))
        .map(drop)
        .map_err(|e| format!("no loop mounts here ({e})"))
}
