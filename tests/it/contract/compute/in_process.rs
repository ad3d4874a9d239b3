//! Compute as tasks of this process.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};

use rat_things::backend::local::compute::InProcessCompute;
use rat_things::backend::local::process::ProcessIdentity;
use tokio::sync::watch;

use super::*;

fn subject() -> Subject {
    subject_of(ROOM).0
}

fn subject_of(room: usize) -> (Subject, InProcessCompute) {
    let started = Arc::new(Mutex::new(Vec::new()));
    let killed = watch::Sender::new(HashSet::new());
    let (seen, killer) = (started.clone(), killed.clone());
    let work = move |grant: RunGrant| {
        let (started, mut killed) = (started.clone(), killed.subscribe());
        let run = async move {
            started.lock().expect("not poisoned").push(grant.clone());
            assert_ne!(grant.session, "sess_panics", "as it was asked to");
            let _ = killed.wait_for(|all| all.contains(&grant.execution)).await;
        };
        Box::pin(run) as futures_util::future::BoxFuture<'static, ()>
    };
    let compute = InProcessCompute::new(Arc::new(work), room).expect("there is a /proc");
    let subject = Subject {
        compute: Arc::new(compute.clone()),
        started: Box::new(move || seen.lock().expect("not poisoned").clone()),
        kill: Box::new(move |name| {
            killer.send_modify(|all| {
                all.insert(name.clone());
            });
        }),
        _world: Box::new(()),
    };
    (subject, compute)
}

suite!();

#[tokio::test]
async fn a_run_that_panics_is_over() {
    let (subject, compute) = subject_of(1);
    let mut deaths = compute.deaths();
    let grant = subject.launch("sess_panics", 1).await;
    notice(&grant.execution, &mut deaths).await;
    assert_eq!(compute.inspect(&grant.execution).await, Liveness::Gone);
    assert_eq!(compute.runs(), 0);
    compute
        .reserve("sess_b", None)
        .await
        .expect("its place is free");
}

#[tokio::test]
async fn a_reservation_is_for_one_session_and_given_again_to_it() {
    let (_, compute) = subject_of(1);
    let name = compute.reserve("sess_a", None).await.expect("room");
    assert_eq!(compute.reserve("sess_a", None).await, Ok(name.clone()));
    assert_eq!(
        compute.reserve("sess_b", None).await,
        Err(ComputeError::Full)
    );
    let stranger = RunGrant {
        session: "sess_b".to_owned(),
        generation: 1,
        execution: name,
    };
    let refused = compute.launch(&stranger).await;
    assert!(matches!(refused, Err(ComputeError::Failed(_))));
}

#[tokio::test]
async fn seen_from_elsewhere_it_lives_as_long_as_its_process() {
    let (_, compute) = subject_of(1);
    let mut me = ProcessIdentity::current().expect("there is a /proc");
    me.start_ticks -= 1;
    let earlier = ExecutionId(format!("{me}#4"));
    assert_eq!(compute.inspect(&earlier).await, Liveness::Gone);
    assert_eq!(compute.stop(&earlier).await, Ok(()));
    me.start_ticks += 1;
    let whole = ExecutionId(me.to_string());
    assert_eq!(compute.inspect(&whole).await, Liveness::Running);
    // This process does not end itself.
    let refused = compute.stop(&whole).await;
    assert!(matches!(refused, Err(ComputeError::Unknown(_))));
}
