//! What the programs of a world are made of, and how one gets its ports.

use std::collections::BTreeMap;
use std::sync::Arc;

use rat_things::backend::harness::responses::{Options, ResponsesHarness};
use rat_things::backend::memory::MemoryStore;
use rat_things::backend::memory::bell::MemoryBell;
use rat_things::backend::memory::blobs::MemoryBlobs;
use rat_things::backend::memory::environments::{Scripted, ScriptedEnvironments};
use rat_things::backend::memory::ids::SeededIds;
use rat_things::backend::memory::secrets::MemorySecrets;
use rat_things::engine::core::{Core, Settings};
use rat_things::engine::ports::{Clock, Environments, ExecSpec, Harness, Program};
use rat_things::engine::run::Worker;

use super::agent::SimHarness;
use super::courier::Post;
use super::life::{Life, Role};
use super::model::SimModel;
use super::outside::Outside;
use super::plan::Step;
use super::ports::{self, Holders, SimBell, SimBlobs, SimEnvironments};
use super::sabotage::Sabotage;
use super::shared::Shared;
use super::store::SimStore;
use super::watch::Watch;

/// See the module. Clones are the same.
#[derive(Clone)]
pub struct Parts {
    /// Chance, time and trouble.
    pub shared: Arc<Shared>,
    /// Records.
    pub store: Arc<MemoryStore>,
    /// Bytes.
    pub blobs: MemoryBlobs,
    /// Checks every commit.
    pub watch: Arc<Watch>,
    /// Counts every effect.
    pub outside: Arc<Outside>,
    /// Counts every notification.
    pub post: Arc<Post>,
    /// What is wrong on purpose.
    pub sabotage: Sabotage,
    /// Agents are driven by the real harness, over a model that follows its users' words.
    pub real: bool,
    /// What every agent does, if that is not drawn for each Turn.
    pub script: Option<&'static [Step]>,
    bell: MemoryBell,
    secrets: MemorySecrets,
    ids: Arc<SeededIds>,
    environments: ScriptedEnvironments,
    holders: Holders,
    settings: Settings,
}

impl Parts {
    /// An empty world.
    pub fn new(seed: u64, shared: &Arc<Shared>, settings: Settings, sabotage: Sabotage) -> Parts {
        Parts {
            shared: Arc::clone(shared),
            store: Arc::new(MemoryStore::new()),
            blobs: ports::blobs(shared),
            watch: Watch::new(shared, settings.lease_ms),
            outside: Arc::default(),
            post: Arc::default(),
            sabotage,
            real: false,
            script: None,
            bell: MemoryBell::new(),
            secrets: MemorySecrets::new(),
            ids: Arc::new(SeededIds::new(seed)),
            environments: ScriptedEnvironments::new(writes_a_file),
            holders: Holders::default(),
            settings,
        }
    }

    /// The engine as one program has it.
    pub fn core(&self, life: &Arc<Life>) -> Core {
        Core {
            store: Arc::new(SimStore {
                life: Arc::clone(life),
                store: Arc::clone(&self.store),
                watch: Arc::clone(&self.watch),
                sabotage: self.sabotage,
            }),
            blobs: Arc::new(SimBlobs {
                life: Arc::clone(life),
                blobs: self.blobs.clone(),
            }),
            clock: Arc::clone(life) as Arc<dyn Clock>,
            ids: Arc::clone(&self.ids) as _,
            bell: Arc::new(SimBell {
                life: Arc::clone(life),
                bell: self.bell.clone(),
            }),
            secrets: Arc::new(self.secrets.clone()),
            settings: self.settings.clone(),
        }
    }

    /// The engine as nobody has it: nothing goes wrong with it.
    pub fn plain(&self) -> Core {
        Core {
            store: Arc::clone(&self.store) as _,
            blobs: Arc::new(self.blobs.clone()),
            clock: Arc::clone(&self.shared) as Arc<dyn Clock>,
            ids: Arc::clone(&self.ids) as _,
            bell: Arc::new(self.bell.clone()),
            secrets: Arc::new(self.secrets.clone()),
            settings: self.settings.clone(),
        }
    }

    /// Environments as one program has them.
    pub fn environments(&self, life: &Arc<Life>) -> Arc<dyn Environments> {
        Arc::new(SimEnvironments {
            life: Arc::clone(life),
            environments: self.environments.clone(),
            holders: Arc::clone(&self.holders),
        })
    }

    /// A worker process.
    pub fn worker(&self, life: &Arc<Life>) -> Arc<Worker> {
        let harness: Arc<dyn Harness> = match self.real {
            true => {
                let life = Arc::clone(life);
                let model = Arc::new(SimModel { life });
                Arc::new(ResponsesHarness::new(model, Options::default()))
            }
            false => Arc::new(SimHarness {
                life: Arc::clone(life),
                outside: Arc::clone(&self.outside),
                watch: Arc::clone(&self.watch),
                script: self.script,
                sabotage: self.sabotage,
            }),
        };
        let environments = self.environments(life);
        let worker = Worker::new(self.core(life), harness, environments);
        worker.listen();
        worker
    }

    /// Every command that was ever begun in an environment, with how often.
    pub fn commands(&self) -> BTreeMap<String, u64> {
        let mut ran = BTreeMap::new();
        for executed in self.environments.log() {
            *ran.entry(executed.text).or_default() += 1;
        }
        ran
    }

    /// The processes that a dead program had begun die with it.
    pub fn bury(&self, life: &Arc<Life>) {
        let mut holders = self.holders.lock().expect("no program panics with it");
        holders.retain(|id, holder| {
            let dies = Arc::ptr_eq(holder, life);
            if dies {
                self.environments.lose(id);
            }
            !dies
        });
    }

    /// A command of a client.
    pub fn client(&self, what: &str) -> Arc<Life> {
        Life::new(what, Role::Client, &self.shared)
    }
}

/// Every command leaves a file that is captured.
fn writes_a_file(
    spec: &ExecSpec,
    files: &mut rat_things::backend::memory::environments::Files,
) -> Scripted {
    let Program::Shell(text) = &spec.program else {
        return Scripted::ok("");
    };
    let path = format!("/workspace/outputs/{}", files.len());
    files.insert(path, text.clone().into());
    Scripted::ok(text.clone())
}
