//! What every compute promises.

mod in_process;
mod process;
mod scripted;

use std::sync::Arc;
use std::time::Duration;

use rat_things::engine::ports::{Compute, ComputeError, ExecutionId, Liveness, RunGrant};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::{sleep, timeout};

/// Far more than anything here takes; only a failing test waits it out.
const PATIENCE: Duration = Duration::from_secs(30);

/// Runs that fit at once, one in each execution.
const ROOM: usize = 2;

/// A compute whose runs go on until they are ended, with the test's view from the workers' side.
struct Subject {
    compute: Arc<dyn Compute>,
    /// Grants that reached a worker so far, in order.
    started: Box<dyn Fn() -> Vec<RunGrant> + Send + Sync>,
    /// Makes an execution die by itself.
    kill: Box<dyn Fn(&ExecutionId) + Send + Sync>,
    /// Kept until the test is over.
    _world: Box<dyn std::any::Any + Send + Sync>,
}

/// Makes one test per promise for the implementation that `subject()` gives.
macro_rules! suite {
    () => {
        suite!(
            what_is_reserved_has_a_name_and_nothing_runs_yet,
            a_grant_runs_once_however_often_it_is_launched,
            a_death_is_noticed_and_can_be_told_from_life,
            stop_answers_when_it_is_gone_and_can_be_repeated,
            without_room_nothing_is_reserved_until_a_run_is_over,
            nothing_is_launched_on_what_is_gone,
            names_of_elsewhere_are_unknown_and_left_alone,
        );
    };
    ($($promise:ident),+ $(,)?) => {
        $(#[tokio::test]
        async fn $promise() {
            super::$promise(subject()).await;
        })+
    };
}
use suite;

impl Subject {
    async fn launch(&self, session: &str, generation: u64) -> RunGrant {
        let execution = self
            .compute
            .reserve(session, None)
            .await
            .expect("there is room");
        let grant = RunGrant {
            session: session.to_owned(),
            generation,
            execution,
        };
        self.compute.launch(&grant).await.expect("it starts");
        grant
    }

    async fn until_started(&self, grant: &RunGrant) {
        until(|| (self.started)().contains(grant)).await;
    }
}

async fn until(what: impl Fn() -> bool) {
    timeout(PATIENCE, async {
        while !what() {
            sleep(Duration::from_millis(2)).await;
        }
    })
    .await
    .expect("it comes about in time");
}

async fn notice(of: &ExecutionId, deaths: &mut UnboundedReceiver<ExecutionId>) {
    let noticed = timeout(PATIENCE, deaths.recv()).await;
    assert_eq!(noticed.expect("a notice comes").as_ref(), Some(of));
}

async fn what_is_reserved_has_a_name_and_nothing_runs_yet(subject: Subject) {
    let name = subject.compute.reserve("sess_a", None).await.expect("room");
    assert_eq!(subject.compute.inspect(&name).await, Liveness::Running);
    assert_eq!((subject.started)(), []);
}

async fn a_grant_runs_once_however_often_it_is_launched(subject: Subject) {
    let grant = subject.launch("sess_a", 3).await;
    for _ in 0..3 {
        subject.compute.launch(&grant).await.expect("a repetition");
    }
    subject.until_started(&grant).await;
    subject.compute.launch(&grant).await.expect("a repetition");
    // What is launched later starts later: by then a repetition would have been seen.
    let other = subject.launch("sess_b", 1).await;
    subject.until_started(&other).await;
    assert_eq!((subject.started)(), [grant, other]);
}

async fn a_death_is_noticed_and_can_be_told_from_life(subject: Subject) {
    let mut deaths = subject.compute.deaths();
    let mut more_deaths = subject.compute.deaths();
    let (dies, lives) = (
        subject.launch("sess_a", 1).await,
        subject.launch("sess_b", 1).await,
    );
    subject.until_started(&dies).await;
    subject.until_started(&lives).await;
    (subject.kill)(&dies.execution);
    notice(&dies.execution, &mut deaths).await;
    notice(&dies.execution, &mut more_deaths).await;
    let inspect = async |grant: &RunGrant| subject.compute.inspect(&grant.execution).await;
    assert_eq!(inspect(&dies).await, Liveness::Gone);
    assert_eq!(inspect(&lives).await, Liveness::Running);
}

async fn stop_answers_when_it_is_gone_and_can_be_repeated(subject: Subject) {
    let grant = subject.launch("sess_a", 1).await;
    subject.until_started(&grant).await;
    for _ in 0..2 {
        assert_eq!(subject.compute.stop(&grant.execution).await, Ok(()));
        let after = subject.compute.inspect(&grant.execution).await;
        assert_eq!(after, Liveness::Gone);
    }
}

async fn without_room_nothing_is_reserved_until_a_run_is_over(subject: Subject) {
    let mut grants = Vec::new();
    for n in 0..ROOM {
        grants.push(subject.launch(&format!("sess_{n}"), 1).await);
    }
    let refused = subject.compute.reserve("sess_more", None).await;
    assert_eq!(refused, Err(ComputeError::Full));
    subject
        .compute
        .stop(&grants[0].execution)
        .await
        .expect("it ends");
    subject.launch("sess_more", 1).await;
}

async fn nothing_is_launched_on_what_is_gone(subject: Subject) {
    let grant = subject.launch("sess_a", 1).await;
    subject.until_started(&grant).await;
    subject
        .compute
        .stop(&grant.execution)
        .await
        .expect("it ends");
    let late = RunGrant {
        session: "sess_b".to_owned(),
        ..grant.clone()
    };
    let refused = subject.compute.launch(&late).await;
    assert!(matches!(refused, Err(ComputeError::Failed(_))));
    let other = subject.launch("sess_c", 1).await;
    subject.until_started(&other).await;
    assert_eq!((subject.started)(), [grant, other]);
}

async fn names_of_elsewhere_are_unknown_and_left_alone(subject: Subject) {
    for name in ["ec2:i-0123", "", "proc:what"] {
        let name = ExecutionId(name.to_owned());
        let compute = &subject.compute;
        assert_eq!(compute.inspect(&name).await, Liveness::Unknown);
        let stopped = compute.stop(&name).await;
        assert!(matches!(stopped, Err(ComputeError::Unknown(_))));
    }
}
