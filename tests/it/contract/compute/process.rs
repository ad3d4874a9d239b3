//! Compute in worker processes. The workers are this test binary, started again to run [`fake_worker`] alone.

use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rat_things::backend::local::compute::{
    ProcessCompute, ProcessComputeConfig, WorkerCommand, WorkerCommandLine, WorkerPipe,
};
use rat_things::backend::local::process::ProcessIdentity;

use super::*;

/// Where a fake worker writes down what it was given; without it, `fake_worker` does nothing.
const WORLD: &str = "RAT_THINGS_TEST_FAKE_WORKER";

struct World {
    dir: tempfile::TempDir,
}

impl World {
    fn new() -> World {
        let dir = tempfile::tempdir().expect("a temporary directory");
        World { dir }
    }

    fn compute(&self, workers: usize, runs_per_worker: usize) -> ProcessCompute {
        let args = [
            "contract::compute::process::fake_worker",
            "--exact",
            "--nocapture",
        ];
        ProcessCompute::new(ProcessComputeConfig {
            worker: WorkerCommandLine {
                program: std::env::current_exe().expect("this binary has a path"),
                args: args.map(OsString::from).to_vec(),
                env: vec![(WORLD.into(), self.dir.path().into())],
                log_dir: self.dir.path().join("logs"),
            },
            workers,
            runs_per_worker,
            stop_grace_ms: 200,
        })
    }

    fn subject(self, compute: &ProcessCompute) -> Subject {
        let starts = self.dir.path().join("starts");
        Subject {
            compute: Arc::new(compute.clone()),
            started: Box::new(move || read_starts(&starts)),
            kill: Box::new(|name| {
                let process = ProcessIdentity::parse(&name.0).expect("names a process");
                process.kill_and_wait(PATIENCE).expect("it is ours");
            }),
            _world: Box::new(self),
        }
    }
}

fn subject() -> Subject {
    let world = World::new();
    let compute = world.compute(ROOM, 1);
    world.subject(&compute)
}

fn subject_of(workers: usize, runs_per_worker: usize) -> (Subject, ProcessCompute, PathBuf) {
    let world = World::new();
    let compute = world.compute(workers, runs_per_worker);
    let dir = world.dir.path().to_owned();
    (world.subject(&compute), compute, dir)
}

fn read_starts(path: &Path) -> Vec<RunGrant> {
    let text = fs::read_to_string(path).unwrap_or_default();
    let whole = text.lines().filter(|line| line.ends_with('}'));
    whole
        .map(|line| serde_json::from_str(line).expect("a grant"))
        .collect()
}

suite!();

/// Not a test: the worker of the others. What it does with a run depends on the Session's name.
#[test]
fn fake_worker() {
    let Some(dir) = std::env::var_os(WORLD).map(PathBuf::from) else {
        return;
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        let mut pipe = WorkerPipe::stdin_stdout().expect("two pipes");
        let reports = pipe.reports();
        reports.report_ready();
        loop {
            let grant = match pipe.next().await {
                WorkerCommand::Run(grant) => grant,
                WorkerCommand::Leave { .. } | WorkerCommand::DaemonGone => return,
            };
            if grant.session == "sess_deaf" {
                let asked = tokio::signal::unix::SignalKind::terminate();
                // A handler that nobody listens to: the request is ignored.
                std::mem::forget(tokio::signal::unix::signal(asked).expect("takes it over"));
            }
            note(&dir, &grant);
            match grant.session.as_str() {
                "sess_exits" => std::process::exit(3),
                session if session.starts_with("sess_quick") => {
                    reports.report_holds(vec![session.to_owned()]);
                    reports.report_ended(session, grant.generation);
                }
                "sess_talks" => {
                    let mut words = std::io::stderr();
                    words.write_all(b"last words\n").expect("has a log");
                }
                _ => {}
            }
        }
    });
}

fn note(dir: &Path, grant: &RunGrant) {
    let mut line = serde_json::to_vec(grant).expect("serialises");
    line.push(b'\n');
    let mut options = fs::OpenOptions::new();
    let starts = options.append(true).create(true).open(dir.join("starts"));
    starts
        .and_then(|mut file| file.write_all(&line))
        .expect("writes");
}

#[tokio::test]
async fn workers_are_filled_one_after_the_other() {
    let (subject, compute, _) = subject_of(2, 2);
    let mut names = Vec::new();
    for n in 0..4 {
        names.push(subject.launch(&format!("sess_{n}"), 1).await.execution);
    }
    assert_eq!(names[0], names[1]);
    assert_ne!(names[1], names[2]);
    assert_eq!(names[2], names[3]);
    assert_eq!(
        compute.reserve("sess_more", None).await,
        Err(ComputeError::Full)
    );
    assert_eq!((compute.load().workers, compute.load().runs), (2, 4));
    assert!(!compute.idle());
}

#[tokio::test]
async fn a_session_goes_where_its_environment_is_open() {
    let (subject, compute, _) = subject_of(2, 2);
    // Fills the first worker, so that the second gets the quick run, holds its environment and is empty again.
    let first = subject.launch("sess_a", 1).await;
    subject.launch("sess_b", 1).await;
    let quick = subject.launch("sess_quick", 1).await;
    until(|| compute.load().runs == 2).await;
    subject.launch("sess_c", 1).await;
    assert_eq!(
        compute.reserve("sess_quick", None).await,
        Ok(quick.execution.clone())
    );
    assert_eq!(
        compute.reserve("sess_a", None).await,
        Ok(first.execution),
        "where it runs"
    );
}

#[tokio::test]
async fn a_later_generation_runs_in_the_same_worker() {
    let (subject, compute, _) = subject_of(1, 1);
    let first = subject.launch("sess_quick", 1).await;
    until(|| compute.idle()).await;
    let second = subject.launch("sess_quick", 2).await;
    subject.until_started(&second).await;
    assert_eq!(first.execution, second.execution);
    compute.launch(&first).await.expect("an old repetition");
    until(|| compute.idle()).await;
    let third = subject.launch("sess_quick", 3).await;
    subject.until_started(&third).await;
    assert_eq!((subject.started)(), [first, second, third]);
}

#[tokio::test]
async fn a_worker_that_leaves_by_itself_is_noticed() {
    let (subject, compute, _) = subject_of(1, 1);
    let mut deaths = compute.deaths();
    let grant = subject.launch("sess_exits", 1).await;
    notice(&grant.execution, &mut deaths).await;
    assert_eq!(compute.load().workers, 0);
    let next = RunGrant {
        generation: 2,
        ..grant
    };
    let refused = compute.launch(&next).await;
    assert!(matches!(refused, Err(ComputeError::Failed(_))));
}

#[tokio::test]
async fn workers_leave_when_they_are_asked_or_have_nothing_to_do() {
    let (subject, compute, _) = subject_of(2, 1);
    let stays = subject.launch("sess_a", 1).await;
    subject.launch("sess_quick", 1).await;
    until(|| compute.load().runs == 1).await;
    timeout(PATIENCE, async {
        while compute.load().workers > 1 {
            compute.ask_idle_to_leave(1, 10).await;
            sleep(Duration::from_millis(2)).await;
        }
    })
    .await
    .expect("it leaves");
    assert_eq!(compute.inspect(&stays.execution).await, Liveness::Running);
    compute.ask_leave(10).await;
    timeout(PATIENCE, compute.all_gone())
        .await
        .expect("it leaves");
    assert_eq!(compute.load().workers, 0);
    subject.launch("sess_b", 1).await;
}

#[tokio::test]
async fn a_worker_that_ignores_the_polite_request_is_killed() {
    let (subject, compute, _) = subject_of(1, 1);
    let grant = subject.launch("sess_deaf", 1).await;
    subject.until_started(&grant).await;
    assert_eq!(compute.stop(&grant.execution).await, Ok(()));
    assert_eq!(compute.inspect(&grant.execution).await, Liveness::Gone);
}

#[tokio::test]
async fn another_daemon_can_inspect_and_stop_it_and_never_its_successor() {
    let (subject, compute, _) = subject_of(1, 1);
    let other = World::new();
    let later_life = other.compute(1, 1);
    let grant = subject.launch("sess_a", 1).await;
    let mut earlier = ProcessIdentity::parse(&grant.execution.0).expect("names a process");
    earlier.start_ticks -= 1;
    let earlier = ExecutionId(earlier.to_string());
    assert_eq!(later_life.inspect(&earlier).await, Liveness::Gone);
    assert_eq!(later_life.stop(&earlier).await, Ok(()));
    assert_eq!(
        later_life.inspect(&grant.execution).await,
        Liveness::Running
    );
    assert_eq!(later_life.stop(&grant.execution).await, Ok(()));
    assert_eq!(compute.inspect(&grant.execution).await, Liveness::Gone);
}

#[tokio::test]
async fn workers_outlive_the_pool_and_see_that_it_is_gone() {
    let (subject, compute, _) = subject_of(1, 1);
    let grant = subject.launch("sess_a", 1).await;
    subject.until_started(&grant).await;
    let process = ProcessIdentity::parse(&grant.execution.0).expect("names a process");
    assert_eq!(process.inspect(), Liveness::Running);
    drop(compute);
    drop(subject);
    // The fake worker leaves at once when its daemon is gone.
    until(|| process.inspect() == Liveness::Gone).await;
}

#[tokio::test]
async fn workers_are_out_of_reach_of_the_terminal() {
    let (subject, _, _) = subject_of(1, 1);
    let grant = subject.launch("sess_a", 1).await;
    let process = ProcessIdentity::parse(&grant.execution.0).expect("names a process");
    let pid = i32::try_from(process.pid).expect("a pid");
    let group = rustix::process::getpgid(rustix::process::Pid::from_raw(pid));
    let group = group.expect("it lives");
    assert_eq!(group.as_raw_pid(), pid);
}

#[tokio::test]
async fn a_worker_s_words_are_kept_and_silence_leaves_no_file() {
    let (subject, compute, dir) = subject_of(2, 1);
    let talks = subject.launch("sess_talks", 1).await;
    let silent = subject.launch("sess_a", 1).await;
    for grant in [&talks, &silent] {
        subject.until_started(grant).await;
    }
    let log = |grant: &RunGrant| {
        let process = ProcessIdentity::parse(&grant.execution.0).expect("names a process");
        dir.join(format!("logs/worker-{}.log", process.pid))
    };
    let words = || fs::read_to_string(log(&talks)).unwrap_or_default();
    until(|| words().contains("last words")).await;
    compute.ask_leave(10).await;
    until(|| !log(&silent).exists()).await;
    assert!(log(&talks).exists());
}

#[tokio::test]
async fn a_worker_that_can_not_be_started_is_said_to_have_failed() {
    let world = World::new();
    let compute = ProcessCompute::new(ProcessComputeConfig {
        worker: WorkerCommandLine {
            program: world.dir.path().join("no-such-program"),
            args: Vec::new(),
            env: Vec::new(),
            log_dir: world.dir.path().join("logs"),
        },
        workers: 1,
        runs_per_worker: 1,
        stop_grace_ms: 0,
    });
    for _ in 0..2 {
        let refused = compute.reserve("sess_a", None).await;
        assert!(matches!(refused, Err(ComputeError::Failed(_))));
    }
    assert_eq!(compute.load().workers, 0);
}
