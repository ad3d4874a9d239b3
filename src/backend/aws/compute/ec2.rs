//! The Compute port on EC2.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::{Semaphore, mpsc, watch};
use tokio::time::Instant;

use super::calls::Ec2Calls;
use super::launch::{LaunchOptions, Order, Phase, Seen, order};
use super::names::{EXECUTION_TAG, SESSION_TAG, fresh, token_of};
use super::outcome::{Next, after};
use super::program::WorkerProgram;
use super::sightings::{FRESH, STALE, Sightings};
use super::user_data::Boot;
use crate::backend::aws::client::AwsClients;
use crate::backend::aws::fault::Fault;
use crate::backend::local::ids;
use crate::engine::ports::{Compute, ComputeError, ExecutionId, Liveness, Machine, RunGrant};

/// User data that EC2 takes.
const USER_DATA_MAX_BYTES: usize = 16 << 10;
/// Launches on their way at once: EC2 takes two a second of an account.
const LAUNCHES: usize = 4;
/// How long somebody who asks waits for EC2.
const ASK_PATIENCE: Duration = Duration::from_secs(3);
/// Between two looks at all machines.
const LOOK_PAUSE: Duration = Duration::from_secs(2);
/// After an answer that did not come, EC2 is left alone this long.
const AFTER_TROUBLE: Duration = Duration::from_secs(5);
/// How long a machine that is stopped is waited for before it is said that it may still be there.
const STOP_PATIENCE: Duration = Duration::from_secs(25);
/// Between two looks at a machine that is being stopped.
const STOP_LOOK: Duration = Duration::from_secs(2);
/// A name that was given out is known for so long: a launch follows its reservation at once, or never.
const GIVEN_KEPT: Duration = Duration::from_secs(3_600);
/// How long a machine takes at most from its launch to the first word of its worker.
const STARTING_MS: u64 = 240_000;

/// How machines are launched and found.
#[derive(Clone, Debug)]
pub struct Ec2Config {
    /// What every launch has in common.
    pub launch: LaunchOptions,
    /// What a machine does; `None` where nothing is launched from here.
    pub boot: Option<(Boot, WorkerProgram)>,
}

/// Machines of one deployment. Cheap to clone.
#[derive(Clone)]
pub struct Ec2Compute {
    inner: Arc<Inner>,
}

struct Inner {
    calls: Ec2Calls,
    config: Ec2Config,
    sightings: Mutex<Sightings>,
    /// A look at all machines is on its way.
    looking: AtomicBool,
    /// Counts the looks that ended; and until when EC2 is left alone.
    looked: watch::Sender<(u64, Option<Instant>)>,
    launches: Semaphore,
    program_is_there: AtomicBool,
    /// Names that were given out here: when, and for which generation a machine was asked for under it. Under any other name a machine waits
    /// already, and a second one of that name must never be.
    given: Mutex<HashMap<ExecutionId, (Instant, Option<u64>)>>,
}

impl Ec2Compute {
    /// Sends nothing.
    pub fn new(clients: &AwsClients, config: Ec2Config) -> Ec2Compute {
        Ec2Compute {
            inner: Arc::new(Inner {
                calls: Ec2Calls::new(clients, &config.launch.deployment),
                config,
                sightings: Mutex::default(),
                looking: AtomicBool::new(false),
                looked: watch::Sender::new((0, None)),
                launches: Semaphore::new(LAUNCHES),
                program_is_there: AtomicBool::new(false),
                given: Mutex::default(),
            }),
        }
    }
}

impl Inner {
    fn sightings(&self) -> MutexGuard<'_, Sightings> {
        self.sightings
            .lock()
            .unwrap_or_else(|broken| broken.into_inner())
    }

    /// A name that nobody has.
    fn give(&self) -> ExecutionId {
        let mut random = [0; 26];
        ids::fill(&mut random);
        let name = fresh(random);
        let mut given = self
            .given
            .lock()
            .unwrap_or_else(|broken| broken.into_inner());
        given.retain(|_, (since, _)| since.elapsed() < GIVEN_KEPT);
        given.insert(name.clone(), (Instant::now(), None));
        name
    }

    /// Whether a machine is to be asked for under this name, for this generation.
    fn may_ask_for(&self, grant: &RunGrant) -> bool {
        let mut given = self
            .given
            .lock()
            .unwrap_or_else(|broken| broken.into_inner());
        match given.get_mut(&grant.execution) {
            Some((_, asked)) => *asked.get_or_insert(grant.generation) == grant.generation,
            None => false,
        }
    }

    /// The machines of one execution, as EC2 shows them now.
    async fn of(&self, execution: &ExecutionId, token: &str) -> Result<Vec<Seen>, Fault> {
        let asked = Instant::now();
        let seen = self.calls.describe(Some((EXECUTION_TAG, token))).await?;
        self.sightings().learn_one(execution, asked, &seen);
        Ok(seen)
    }

    /// Looks at all machines of the deployment, unless that is done already or EC2 is to be left alone: one request for whoever asks
    /// about any of them.
    fn look(self: &Arc<Self>) {
        let now = Instant::now();
        let trouble = self.looked.borrow().1;
        let asked = self.sightings().asked();
        if trouble.is_some_and(|until| now < until)
            || asked.is_some_and(|asked| now - asked < LOOK_PAUSE)
            || self.looking.swap(true, Ordering::SeqCst)
        {
            return;
        }
        let this = Arc::clone(self);
        tokio::spawn(async move {
            let asked = Instant::now();
            let trouble = match this.calls.describe(None).await {
                Ok(all) => {
                    this.sightings().learn(asked, &all);
                    None
                }
                Err(error) => {
                    tracing::warn!(%error, "EC2 does not say which machines there are");
                    Some(Instant::now() + AFTER_TROUBLE)
                }
            };
            this.looking.store(false, Ordering::SeqCst);
            this.looked
                .send_modify(|looked| *looked = (looked.0 + 1, trouble));
        });
    }

    /// Waits for the look that is on its way, for a while.
    async fn wait_for_look(&self) {
        let mut looked = self.looked.subscribe();
        looked.borrow_and_update();
        if self.looking.load(Ordering::SeqCst) {
            let _ = tokio::time::timeout(ASK_PATIENCE, looked.changed()).await;
        }
    }

    /// What is sent for a grant: the same bytes however often it is sent.
    async fn prepare(&self, grant: &RunGrant) -> Result<Order, ComputeError> {
        let failed = |why: String| ComputeError::Failed(why);
        let Some((boot, program)) = &self.config.boot else {
            return Err(failed("no machine is launched from here".to_owned()));
        };
        if !self.program_is_there.load(Ordering::SeqCst) {
            match program.is_there().await {
                Ok(true) => self.program_is_there.store(true, Ordering::SeqCst),
                Ok(false) => {
                    let why = format!(
                        "the program for machines is not in the bucket, as {}: rat-things aws init puts it there",
                        program.key()
                    );
                    return Err(failed(why));
                }
                Err(fault) => return Err(before_launch(&fault)),
            }
        }
        let address = program.address().await;
        let address = address.map_err(|fault| before_launch(&fault))?;
        let script = boot.script(grant, &address, program.sha256());
        if script.len() > USER_DATA_MAX_BYTES {
            let why = format!(
                "the configuration of a worker is too long for a machine: {} bytes of user data, {USER_DATA_MAX_BYTES} at most",
                script.len()
            );
            return Err(failed(why));
        }
        order(&self.config.launch, grant, &script)
            .ok_or_else(|| failed(format!("{} is no execution on a machine", grant.execution)))
    }
}

/// Trouble before anything was launched.
fn before_launch(fault: &Fault) -> ComputeError {
    match fault {
        Fault::Unreachable(_) | Fault::Uncertain(_) | Fault::Throttled(_) => {
            ComputeError::Scarce(fault.to_string())
        }
        Fault::Credentials(_) | Fault::Denied(_) | Fault::Refused { .. } => {
            ComputeError::Failed(fault.to_string())
        }
    }
}

/// At most `pause`, at least half of it: those who wait for the same come back one by one.
fn jittered(pause: Duration) -> Duration {
    let mut random = [0; 2];
    ids::fill(&mut random);
    pause / 2 + pause.mul_f64(f64::from(u16::from_le_bytes(random)) / f64::from(u16::MAX)) / 2
}

#[async_trait]
impl Compute for Ec2Compute {
    async fn reserve(
        &self,
        session: &str,
        last: Option<&ExecutionId>,
    ) -> Result<ExecutionId, ComputeError> {
        if let Some(last) = last
            && let Some(token) = token_of(last)
        {
            let seen = self.inner.of(last, token).await;
            let seen = seen.map_err(|fault| before_launch(&fault))?;
            let waits = |seen: &Seen| seen.takes_work() && seen.tag(SESSION_TAG) == Some(session);
            if seen.iter().any(waits) {
                return Ok(last.clone());
            }
        }
        Ok(self.inner.give())
    }

    async fn launch(&self, grant: &RunGrant) -> Result<(), ComputeError> {
        let inner = &self.inner;
        let token = token_of(&grant.execution).ok_or_else(|| {
            ComputeError::Failed(format!("{} is no execution on a machine", grant.execution))
        })?;
        // Where its machine waits already, the claim was the message.
        if !inner.may_ask_for(grant) {
            return Ok(());
        }
        inner.sightings().ask(&grant.execution, Instant::now());
        let order = inner.prepare(grant).await?;
        let _turn = inner.launches.acquire().await;
        let mut perhaps = false;
        for sent in 1.. {
            let asked = Instant::now();
            let fault = match inner.calls.run(&order).await {
                Ok(seen) => {
                    tracing::info!(
                        session = grant.session,
                        generation = grant.generation,
                        machine = seen.id,
                        token,
                        "launched"
                    );
                    inner
                        .sightings()
                        .learn_one(&grant.execution, asked, &[seen]);
                    return Ok(());
                }
                Err(fault) => fault,
            };
            match after(&fault, sent, perhaps) {
                Next::End(error) => return Err(error),
                Next::Again(pause) => {
                    tracing::warn!(session = grant.session, %fault, sent, "a launch is repeated");
                    perhaps |= matches!(fault, Fault::Uncertain(_));
                    tokio::time::sleep(jittered(pause)).await;
                }
            }
        }
        Err(ComputeError::Unknown("it was sent too often".to_owned()))
    }

    async fn inspect(&self, execution: &ExecutionId) -> Liveness {
        if token_of(execution).is_none() {
            return Liveness::Unknown;
        }
        let inner = &self.inner;
        let now = Instant::now();
        let known = {
            let mut sightings = inner.sightings();
            sightings.ask(execution, now);
            sightings.of(execution, now)
        };
        match known {
            (Liveness::Gone, _) => return Liveness::Gone,
            (liveness, Some(looked)) if now - looked < FRESH => return liveness,
            (Liveness::Running, Some(looked)) if now - looked < STALE => {
                inner.look();
                return Liveness::Running;
            }
            _ => {}
        }
        inner.look();
        inner.wait_for_look().await;
        let now = Instant::now();
        match inner.sightings().of(execution, now) {
            (Liveness::Gone, _) => Liveness::Gone,
            // Nobody answered, so that what was known once is not known any more.
            (liveness, Some(looked)) if now - looked < STALE => liveness,
            _ => Liveness::Unknown,
        }
    }

    async fn stop(&self, execution: &ExecutionId) -> Result<(), ComputeError> {
        let unknown = |why: String| ComputeError::Unknown(why);
        let Some(token) = token_of(execution) else {
            return Err(unknown(format!("{execution} is no execution on a machine")));
        };
        let inner = &self.inner;
        inner.sightings().ask(execution, Instant::now());
        let until = Instant::now() + STOP_PATIENCE;
        loop {
            let seen = inner.of(execution, token).await;
            let seen = seen.map_err(|fault| unknown(fault.to_string()))?;
            let (liveness, _) = inner.sightings().of(execution, Instant::now());
            if liveness == Liveness::Gone {
                // What stands still has ended, and goes on being paid for.
                let halted = seen.iter().filter(|seen| seen.phase == Phase::Stopped);
                let halted: Vec<String> = halted.map(|seen| seen.id.clone()).collect();
                if let Err(fault) = inner.calls.end(&halted).await {
                    tracing::warn!(%execution, %fault, "a halted machine could not be ended");
                }
                return Ok(());
            }
            if seen.is_empty() {
                return Err(unknown(format!(
                    "EC2 does not show the machine of {execution}"
                )));
            }
            let left = seen.iter().filter(|seen| {
                matches!(
                    seen.phase,
                    Phase::Pending | Phase::Running | Phase::Stopping | Phase::Other
                )
            });
            let left: Vec<String> = left.map(|seen| seen.id.clone()).collect();
            let ended = inner.calls.end(&left).await;
            ended.map_err(|fault| unknown(fault.to_string()))?;
            if Instant::now() + STOP_LOOK > until {
                let ids: Vec<&str> = seen.iter().map(|seen| seen.id.as_str()).collect();
                return Err(unknown(format!("{} is still ending", ids.join(", "))));
            }
            tokio::time::sleep(STOP_LOOK).await;
        }
    }

    fn deaths(&self) -> mpsc::UnboundedReceiver<ExecutionId> {
        // EC2 gives no notice; whoever watches an execution inspects it.
        mpsc::unbounded_channel().1
    }

    fn starting_ms(&self, _execution: &ExecutionId) -> u64 {
        STARTING_MS
    }

    async fn machines(&self) -> Result<Vec<Machine>, ComputeError> {
        let asked = Instant::now();
        let all = self.inner.calls.describe(None).await;
        let all = all.map_err(|fault| before_launch(&fault))?;
        self.inner.sightings().learn(asked, &all);
        Ok(all.iter().filter_map(Seen::machine).collect())
    }
}
