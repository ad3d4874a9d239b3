//! A child process that writes to a store until it is killed, and the proof of what it left behind.
//!
//! The child is this test binary again, told by its environment to run [`role`]. Each of its tasks commits step after step: a head
//! that moves and three lasting rows of different width, all with content that can be computed again. After an answer it notes the
//! step in a file outside the store. So whoever comes later can tell what was lost, what is half there, and what is wrong.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use rat_things::backend::local::store::{Durability, SqliteStore, StoreOptions};
use rat_things::engine::ports::{
    Change, Commit, CommitId, Committed, Guard, Key, Range, Store, StoreError, Write,
};

/// What a child does: the variable that makes this binary a child.
const JOB: &str = "RAT_THINGS_TEST_STORE_CHILD";

/// A job for a child.
#[derive(Clone)]
pub struct Job {
    /// The database.
    pub database: PathBuf,
    /// Where acknowledged steps are noted.
    pub acks: PathBuf,
    /// Tasks that commit at once.
    pub tasks: u64,
    /// Tells the children of one store apart.
    pub process: u64,
    /// Steps of each task; 0 goes on until the end.
    pub steps: u64,
    /// Whether commits are synced before they are acknowledged.
    pub durability: Durability,
}

/// A child that runs. Dropping it kills it.
pub struct Running(pub Child);

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Job {
    /// The command that runs this job, to be started as it is or under another program.
    pub fn command(&self) -> Command {
        let mut command = Command::new(std::env::current_exe().expect("this test binary"));
        self.describe(&mut command);
        command.args(["store_child::role", "--exact", "--nocapture"]);
        command
    }

    /// Puts the job into a command's environment.
    pub fn describe(&self, command: &mut Command) {
        let durability = match self.durability {
            Durability::Full => "full",
            Durability::ProcessOnly => "process",
        };
        let text = format!(
            "{}\n{}\n{}\n{}\n{}\n{durability}",
            self.database.display(),
            self.acks.display(),
            self.tasks,
            self.process,
            self.steps
        );
        command.env(JOB, text).stdout(Stdio::null());
    }

    /// Starts the job.
    pub fn start(&self) -> Running {
        Running(self.command().spawn().expect("the child starts"))
    }

    fn parse(text: &str) -> Job {
        let lines: Vec<&str> = text.lines().collect();
        let number = |at: usize| lines[at].parse().expect("a number");
        Job {
            database: lines[0].into(),
            acks: lines[1].into(),
            tasks: number(2),
            process: number(3),
            steps: number(4),
            durability: match lines[5] {
                "full" => Durability::Full,
                _ => Durability::ProcessOnly,
            },
        }
    }
}

/// What the child does. In an ordinary test run there is no job, and it passes.
#[test]
fn role() {
    let Ok(text) = std::env::var(JOB) else { return };
    let job = Job::parse(&text);
    let options = StoreOptions {
        durability: job.durability,
        ..StoreOptions::default()
    };
    let store = SqliteStore::open(&job.database, options).expect("the store opens");
    let store = Arc::new(store);
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let tasks: Vec<_> = (0..job.tasks)
            .map(|task| tokio::spawn(write(Arc::clone(&store), job.clone(), task)))
            .collect();
        for task in tasks {
            task.await.expect("no task fails");
        }
    });
}

async fn write(store: Arc<SqliteStore>, job: Job, task: u64) {
    let mut acks = OpenOptions::new()
        .append(true)
        .create(true)
        .open(&job.acks)
        .expect("the file of acknowledgements");
    let partition = partition(job.process, task);
    let head = store.get(&Key::new(&*partition, "head")).await;
    let mut step = head.expect("reads work").map_or(0, |head| head.version);
    let end = match job.steps {
        0 => u64::MAX,
        steps => step + steps,
    };
    while step < end {
        let answer = store.commit(commit(&partition, step)).await;
        assert_eq!(answer, Ok(Committed { repeated: false }));
        let line = format!("{} {task} {step}\n", job.process);
        acks.write_all(line.as_bytes()).expect("it is noted");
        step += 1;
    }
}

fn partition(process: u64, task: u64) -> String {
    format!("W/{process}/{task}")
}

/// Names of the lasting rows and the size of their values in bytes: one stays narrow, two are wide.
const LASTING: [(&str, usize); 3] = [("a", 80), ("b", 700), ("c", 5000)];

fn commit(partition: &str, step: u64) -> Commit {
    let put = |sort: String, guard, size| {
        let value = content(partition, &sort, step, size);
        Write {
            key: Key::new(partition, sort),
            guard,
            change: Change::Put(value),
        }
    };
    let head = match step {
        0 => Guard::Absent,
        n => Guard::Version(n),
    };
    let mut writes = vec![put("head".to_owned(), head, 300)];
    for (kind, size) in LASTING {
        writes.push(put(format!("{kind}/{step:012}"), Guard::Absent, size));
    }
    let mut id = [0; 16];
    id.copy_from_slice(&content(partition, "id", step, 16));
    Commit {
        id: CommitId(id),
        writes: writes.into(),
    }
}

/// Bytes that follow from where and when they were written.
fn content(partition: &str, sort: &str, step: u64, size: usize) -> Vec<u8> {
    let place = partition.bytes().chain(sort.bytes());
    let mut seed = place.fold(step, |seed, byte| {
        seed.wrapping_mul(1_099_511_628_211) ^ u64::from(byte)
    });
    let mut bytes = Vec::with_capacity(size + 8);
    while bytes.len() < size {
        seed = seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        bytes.extend_from_slice(&(seed ^ seed >> 29).to_le_bytes());
    }
    bytes.truncate(size);
    bytes
}

/// What was found in a store after its writers were gone.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Proof {
    /// Steps that had been acknowledged.
    pub acknowledged: u64,
    /// Of those, steps that are not there.
    pub lost: u64,
    /// Steps of which only a part is there, and rows with other content than was written.
    pub damaged: u64,
}

/// Compares a store with the acknowledgements of its writers.
pub async fn prove(store: &SqliteStore, acks: &Path) -> Proof {
    let noted = std::fs::read_to_string(acks).unwrap_or_default();
    let mut next: BTreeMap<(u64, u64), u64> = BTreeMap::new();
    // A line without its end was never a whole note.
    let whole = noted.rfind('\n').map_or("", |end| &noted[..end]);
    for line in whole.lines() {
        let numbers: Vec<u64> = line.split(' ').filter_map(|n| n.parse().ok()).collect();
        let [process, task, step] = numbers[..] else {
            panic!("not a note: {line:?}");
        };
        let after = next.entry((process, task)).or_default();
        *after = (*after).max(step + 1);
    }
    let mut proof = Proof::default();
    for ((process, task), acknowledged) in next {
        let partition = partition(process, task);
        let head = store.get(&Key::new(&*partition, "head")).await;
        let head = head.expect("reads work");
        let there = head.as_ref().map_or(0, |head| head.version);
        proof.acknowledged += acknowledged;
        proof.lost += acknowledged.saturating_sub(there);
        if let Some(head) = head {
            let wanted = content(&partition, "head", there - 1, 300);
            proof.damaged += u64::from(head.value != wanted);
        }
        for (kind, size) in LASTING {
            proof.damaged += damaged(store, &partition, kind, size, there).await;
        }
    }
    proof
}

/// Rows of one kind that are missing, too many, or wrong.
async fn damaged(store: &SqliteStore, partition: &str, kind: &str, size: usize, steps: u64) -> u64 {
    let mut range = Range::prefix(partition, &format!("{kind}/"), 500);
    let (mut step, mut damaged) = (0, 0);
    loop {
        let page = store.range(&range).await.expect("reads work");
        for record in &page.records {
            let sort = format!("{kind}/{step:012}");
            let right = record.key.sort == sort
                && record.version == 1
                && record.value == content(partition, &sort, step, size);
            damaged += u64::from(!right);
            step += 1;
        }
        match page.records.last() {
            Some(last) if page.more => range.from = format!("{}\u{0}", last.key.sort),
            _ => break,
        }
    }
    damaged + step.abs_diff(steps)
}

/// How many steps were noted so far.
pub fn noted(acks: &Path) -> usize {
    std::fs::read(acks).map_or(0, |text| text.iter().filter(|b| **b == b'\n').count())
}

/// Waits, looking again and again, until a condition holds; gives up after a time that no healthy run needs.
pub fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = std::time::Instant::now();
    while !holds() {
        assert!(
            begun.elapsed().as_secs() < 60,
            "waited in vain until {what}"
        );
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
}

/// Says on stderr why a test does not run here.
pub fn skip(test: &str, reason: &str) {
    // A test that can't say why it is skipped is still skipped.
    let _ = writeln!(std::io::stderr(), "{test} is skipped: {reason}");
}

/// The answer without its words, to compare.
pub fn fault<T: std::fmt::Debug>(
    answer: Result<T, StoreError>,
) -> (rat_things::engine::ports::StoreFault, String) {
    match answer {
        Err(StoreError::Broken { fault, message }) => (fault, message),
        other => panic!("expected a fault, got {other:?}"),
    }
}
