//! The harness of the simulation: an agent that follows a plan, and a world outside that counts every effect.
//!
//! What a Turn does follows from its id alone ([`super::plan`]), so that a resumed Turn can go on where its history ends.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use rat_things::api::CallStatus;
use rat_things::engine::ports::{
    Claim, ExecSpec, Fenced, Harness, ModelUsage, Observation, Past, Program, Signal, Steer,
    ToolEnd, TurnEnd, TurnLink, TurnTask,
};

use super::faults::Fault;
use super::life::Life;
use super::outside::{Outside, TOKENS_READ};
use super::plan::{Step, plan};
use super::sabotage::Sabotage;
use super::watch::Watch;

/// See the module.
pub struct SimHarness {
    /// The worker it works in.
    pub life: Arc<Life>,
    /// The world outside.
    pub outside: Arc<Outside>,
    /// What is recorded.
    pub watch: Arc<Watch>,
    /// What it does, if that does not follow from the Turn.
    pub script: Option<&'static [Step]>,
    /// What is wrong on purpose.
    pub sabotage: Sabotage,
}

/// What stops an agent.
enum Halt {
    Ends(TurnEnd),
}

impl From<Fenced> for Halt {
    fn from(_: Fenced) -> Halt {
        Halt::Ends(TurnEnd::Left)
    }
}

#[async_trait]
impl Harness for SimHarness {
    async fn run(&self, task: TurnTask, mut link: TurnLink) -> TurnEnd {
        let shared = &self.life.shared;
        shared.count("harness starts");
        let end = match self.work(&task, &mut link).await {
            Ok(end) | Err(Halt::Ends(end)) => end,
        };
        shared.note(format_args!(
            "the agent of {} ends: {end:?}",
            &task.turn[..10]
        ));
        end
    }

    fn name(&self) -> &'static str {
        "simulated"
    }
}

impl SimHarness {
    async fn work(&self, task: &TurnTask, link: &mut TurnLink) -> Result<TurnEnd, Halt> {
        self.life.instant("harness").await;
        self.valid(task);
        let fed: Vec<u64> = task.feed.iter().map(|feed| feed.input).collect();
        self.model(task, link).await?;
        if !fed.is_empty() {
            link.saw(Observation::Took(fed)).await?;
        }
        let turn = &task.turn;
        let steps = match self.script {
            Some(script) => script.to_vec(),
            None => plan(turn, task.environment.is_some()),
        };
        for (at, step) in steps.into_iter().enumerate() {
            self.pause(link).await?;
            self.steered(link).await?;
            match step {
                Step::Say => {
                    let text = format!("{turn} says {at}");
                    if !said(task, &text) {
                        self.model(task, link).await?;
                        link.saw(says(text)).await?;
                    }
                }
                Step::Think => {
                    let summary = vec![format!("{turn} thinks {at}")];
                    let thought = |past: &Past| matches!(past, Past::Reasoning { summary: s, .. } if *s == summary);
                    if !task.history.iter().any(thought) {
                        let native = None;
                        link.saw(Observation::Reasoning { summary, native }).await?;
                    }
                }
                Step::Tool { command } => {
                    let call_id = format!("{turn}:t{at}");
                    let known = |past: &Past| matches!(past, Past::Tool { call_id: c, .. } if *c == call_id);
                    let replays = self.sabotage == Sabotage::ReplayCompletedCall;
                    if replays || !task.history.iter().any(known) {
                        self.tool(task, link, &call_id, command).await?;
                    }
                }
                Step::Wait(for_ms) => self.sleep(link, for_ms).await?,
                Step::Fail => {
                    return Ok(TurnEnd::Failed {
                        code: "server_error".into(),
                        message: "by script".into(),
                    });
                }
                Step::Ask(calls) => {
                    if self.ask(task, link, at, calls).await? {
                        return Ok(TurnEnd::Waiting);
                    }
                }
            }
        }
        self.pause(link).await?;
        self.model(task, link).await?;
        self.steered(link).await?;
        let text = format!("{turn} is done");
        if !said(task, &text) {
            link.saw(says(text)).await?;
        }
        Ok(TurnEnd::Completed)
    }

    /// Whether the past that the engine gave is one that a provider would take.
    fn valid(&self, task: &TurnTask) {
        let mut calls: Vec<&str> = Vec::new();
        for past in task.history.iter() {
            let (Past::Tool { call_id, .. } | Past::Function { call_id, .. }) = past else {
                continue;
            };
            if calls.contains(&call_id.as_str()) {
                let what = format!("{}: {call_id} is twice in the history", task.session);
                self.life.shared.broken("I7", &what);
            }
            calls.push(call_id);
            let open = matches!(past, Past::Function { output: None, .. });
            if open && !call_id.starts_with(&task.turn) {
                let what = format!(
                    "{}: {call_id} of an earlier turn has no answer",
                    task.session
                );
                self.life.shared.broken("I7", &what);
            }
        }
    }

    /// One call of the model.
    async fn model(&self, task: &TurnTask, link: &mut TurnLink) -> Result<(), Halt> {
        let shared = &self.life.shared;
        let faults = [
            Fault::ModelFails,
            Fault::ModelBusy,
            Fault::ModelStalls,
            Fault::ModelBreaks,
        ];
        loop {
            self.life.instant("model").await;
            shared.count("model calls");
            self.sleep(link, 1 + shared.below(120)).await?;
            match shared.one_of(&faults) {
                None => {
                    let usage = ModelUsage {
                        input: TOKENS_READ,
                        output: 2,
                        ..ModelUsage::default()
                    };
                    self.outside.model_called(&task.turn);
                    link.saw(Observation::ModelCall(usage)).await?;
                    return Ok(());
                }
                Some(Fault::ModelFails) => {
                    return Err(Halt::Ends(TurnEnd::Failed {
                        code: "server_error".into(),
                        message: "the model is gone".into(),
                    }));
                }
                Some(Fault::ModelBusy) => self.sleep(link, 2_000 + shared.below(5_000)).await?,
                Some(Fault::ModelStalls) => self.sleep(link, 40_000).await?,
                Some(_) => {
                    let text = format!("cut off {}", shared.below(u64::MAX));
                    let cut = Observation::Message {
                        text,
                        phase: None,
                        incomplete: true,
                    };
                    link.saw(cut).await?;
                }
            }
        }
    }

    /// Takes what steers the agent.
    async fn steered(&self, link: &mut TurnLink) -> Result<(), Halt> {
        let mut inputs = Vec::new();
        while let Ok(steer) = link.steer.try_recv() {
            if let Steer::Message(feed) = steer {
                inputs.push(feed.input);
            }
        }
        if !inputs.is_empty() {
            self.life.shared.count("steers taken");
            link.saw(Observation::Took(inputs)).await?;
        }
        Ok(())
    }

    /// A safe point: whoever is asked to stop, stops here.
    async fn pause(&self, link: &mut TurnLink) -> Result<(), Halt> {
        self.life.instant("agent").await;
        let signal = *link.signal.borrow();
        match signal {
            Signal::Leave => return Err(Halt::Ends(TurnEnd::Left)),
            Signal::Cancel => self.cancelled(link).await?,
            Signal::None => {}
        }
        self.sleep(link, self.life.shared.below(60)).await
    }

    async fn cancelled(&self, link: &mut TurnLink) -> Result<(), Halt> {
        if self.life.shared.strikes(Fault::CancelIgnored) {
            tokio::time::sleep(Duration::from_millis(self.life.shared.below(9_000))).await;
            // Words that come after the cancel belong to the Turn that is being cancelled, or to nobody.
            let text = format!("late words {}", self.life.shared.below(u64::MAX));
            link.saw(says(text)).await?;
        }
        Err(Halt::Ends(TurnEnd::Cancelled))
    }

    /// Lets time pass, unless it is cancelled.
    async fn sleep(&self, link: &mut TurnLink, for_ms: u64) -> Result<(), Halt> {
        let cancel = tokio::select! {
            biased;
            asked = link.signal.wait_for(|signal| *signal == Signal::Cancel) => asked.is_ok(),
            () = tokio::time::sleep(Duration::from_millis(for_ms)) => return Ok(()),
        };
        match cancel {
            true => self.cancelled(link).await,
            false => Err(Halt::Ends(TurnEnd::Left)),
        }
    }

    /// One effect.
    async fn tool(
        &self,
        task: &TurnTask,
        link: &mut TurnLink,
        call_id: &str,
        command: bool,
    ) -> Result<(), Halt> {
        let shared = &self.life.shared;
        self.model(task, link).await?;
        if self.sabotage == Sabotage::ClaimAfterEffect {
            self.outside
                .happens(shared, &self.watch, &task.session, call_id);
        }
        let claim = Claim {
            call_id: call_id.into(),
            name: "shell".into(),
            arguments: "{}".into(),
            command: call_id.into(),
            cwd: None,
            server_label: None,
        };
        link.claim(claim).await?;
        self.life.instant("effect").await;
        if self.sabotage != Sabotage::ClaimAfterEffect {
            self.outside
                .happens(shared, &self.watch, &task.session, call_id);
        }
        if shared.strikes(Fault::ToolHangs) {
            self.sleep(link, 1_000 + shared.below(100_000)).await?;
        }
        let exit_code = match (&task.environment, command) {
            (Some(environment), true) => {
                let (output, _) = tokio::sync::mpsc::channel(4);
                let cancel = tokio::sync::watch::Sender::new(false);
                let end = environment.exec(exec(call_id), output, cancel.subscribe());
                end.await.map_or(-1, |_| 0)
            }
            _ => {
                self.sleep(link, shared.below(200)).await?;
                0
            }
        };
        self.life.instant("effect ended").await;
        let end = ToolEnd {
            status: CallStatus::Completed,
            exit_code: Some(exit_code),
            output: "a line of output that is long enough to be stored apart".into(),
            duration_ms: 1,
        };
        let output = end.output.clone();
        let call_id = call_id.to_owned();
        link.saw(Observation::ToolEnded {
            call_id,
            end,
            output,
        })
        .await?;
        Ok(())
    }

    /// Asks the client. `true`: it has to be waited for.
    async fn ask(
        &self,
        task: &TurnTask,
        link: &mut TurnLink,
        at: usize,
        calls: u64,
    ) -> Result<bool, Halt> {
        let mut waits = false;
        for n in 0..calls {
            let id = format!("{}:f{at}.{n}", task.turn);
            let mut past = task.history.iter();
            let known = past.find_map(|past| match past {
                Past::Function {
                    call_id, output, ..
                } if *call_id == id => Some(output.is_some()),
                _ => None,
            });
            match known {
                Some(answered) => waits |= !answered,
                None => {
                    let call = Observation::FunctionCall {
                        call_id: id,
                        name: "ask".into(),
                        arguments: "{}".into(),
                        background: false,
                    };
                    link.saw(call).await?;
                    waits = true;
                }
            }
        }
        Ok(waits)
    }
}

fn says(text: String) -> Observation {
    Observation::Message {
        text,
        phase: None,
        incomplete: false,
    }
}

fn said(task: &TurnTask, wanted: &str) -> bool {
    let mut past = task.history.iter();
    past.any(|past| matches!(past, Past::Assistant { text, .. } if text == wanted))
}

fn exec(text: &str) -> ExecSpec {
    ExecSpec {
        program: Program::Shell(text.to_owned()),
        cwd: "/workspace".into(),
        env: BTreeMap::new(),
        stdin: bytes::Bytes::new(),
        timeout_ms: 60_000,
        output_limit_bytes: 1 << 16,
    }
}
