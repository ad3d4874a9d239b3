//! Names the concrete backends; no other face file may, but those below this one.

pub mod account;
mod harness;
mod machines;
mod requests;
pub mod setup;
mod workers;

use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use super::config::{
    AwsSettings, IsolationChoice, KeyOrigin, NetworkChoice, ProviderKind, RecoveryChoice,
    ServerSettings, Settings, prepare_data_dir,
};
use super::deployed::Deployed;
use super::out::{CliError, codes};
use crate::api::{Extension, HarnessChoice};
use crate::backend::aws::caller::{RememberedIdentity, forget};
use crate::backend::aws::client::AwsClients;
use crate::backend::aws::identity::StsIdentity;
use crate::backend::aws::inventory::AwsInventory;
use crate::backend::aws::store as aws_store;
use crate::backend::demo::Demo;
use crate::backend::harness::codex::exec::relay;
use crate::backend::harness::codex::warden;
use crate::backend::harness::responses::patch;
use crate::backend::key::KeySource;
use crate::backend::local::archive::{TarZstdReader, TarZstdWriter};
use crate::backend::local::bell::LocalBell;
use crate::backend::local::blobs::LocalBlobs;
use crate::backend::local::clock::SystemClock;
use crate::backend::local::identity::LocalIdentity;
use crate::backend::local::ids::SystemIds;
use crate::backend::local::inventory::LocalInventory;
use crate::backend::local::process::{self, ProcessIdentity};
use crate::backend::local::sandbox::{
    EnvironmentLimits, LocalEnvironments, LocalEnvironmentsConfig, init,
};
use crate::backend::local::secrets::LocalSecrets;
use crate::backend::local::store::{SqliteStore, StoreOptions};
use crate::backend::model::demo::DemoModel;
use crate::backend::model::http::{HttpModel, HttpOptions};
use crate::backend::remote::{Remote, RemoteOptions};
use crate::engine::archive::{ArchiveSink, ArchiveSource};
use crate::engine::core::{self, Core, Recovery};
use crate::engine::fsck::Inventory;
use crate::engine::keys::owner_of;
use crate::engine::ports::{
    Clock, Environments, Identity, IdentityError, Isolation, Liveness, Model, Network, Principal,
};
use crate::engine::tools::ServedTools;

pub use harness::{codex_found, harness};
pub use machines::{Machine, ThisMachine, execution, is_on_machine, machine, read_provider_key};
pub use requests::{requests, requests_to_aws};
pub use workers::{DaemonLine, Reports, Told, WorkerPool, compute, worker_pool};

/// The binary's private roles, taken before any option is parsed: PID 1 of a sandbox, the patch tool inside one, the way from Codex to
/// one, and PID 1 where Codex runs.
pub fn hidden() -> Option<ExitCode> {
    let role = std::env::args_os().nth(1)?;
    match role.to_str()? {
        init::ROLE => Some(init::main()),
        patch::ROLE => Some(patch::main()),
        relay::ROLE => Some(relay::main()),
        warden::ROLE => Some(warden::main()),
        _ => None,
    }
}

/// What every process of ours does first: nothing of the shell that started it leaks into what it starts.
pub fn start_process() {
    process::keep_inherited_files_from_children();
}

/// Places in a data directory.
#[derive(Clone, Debug)]
pub struct Places {
    /// The directory itself.
    pub root: PathBuf,
}

impl Places {
    /// Records.
    pub fn store(&self) -> PathBuf {
        self.root.join("store.db")
    }

    /// Content.
    pub fn blobs(&self) -> PathBuf {
        self.root.join("blobs")
    }

    /// Sealed values, and their key.
    pub fn secrets(&self) -> PathBuf {
        self.root.join("secrets")
    }

    /// Workspaces.
    pub fn environments(&self) -> PathBuf {
        self.root.join("environments")
    }

    /// Directories of Codex processes, each as long as its process.
    pub fn codex(&self) -> PathBuf {
        self.run().join("codex")
    }

    /// Sockets, locks and what the daemon says of itself.
    pub fn run(&self) -> PathBuf {
        self.root.join("run")
    }

    /// Who callers of AWS are.
    fn aws_callers(&self) -> PathBuf {
        self.run().join("aws-callers.json")
    }

    /// Logs of background processes.
    pub fn logs(&self) -> PathBuf {
        self.root.join("logs")
    }
}

/// The engine in this process.
pub struct Local {
    /// The engine.
    pub core: Core,
    /// Whose Sessions.
    pub owner: String,
    /// Where everything of this machine is.
    pub places: Places,
    /// Where the records are, for what only a store of that kind can do.
    pub world: World,
}

/// Where records and content are.
#[derive(Clone)]
pub enum World {
    /// In the data directory.
    Here(Arc<SqliteStore>),
    /// In an AWS account.
    Aws(Box<AwsWorld>),
}

/// An AWS account, as far as commands care.
#[derive(Clone)]
pub struct AwsWorld {
    /// Its region, table and bucket, in words.
    pub shown: String,
    /// Who asks for what: the caller's account and role, region and table, in words.
    pub caller: String,
    clients: AwsClients,
    records: aws_store::Places,
}

/// The time, for what is shown.
pub fn now_ms() -> u64 {
    SystemClock.now_ms()
}

/// A random idempotency key.
pub fn random_key() -> String {
    crate::engine::ids::random(crate::engine::ids::Kind::Receipt, &SystemIds)
}

/// Opens the engine on the profile's data directory, creating what is missing.
///
/// # Errors
/// The data directory or the store can't be used; the message names the path and the way out.
pub async fn open(settings: &Settings) -> Result<Local, CliError> {
    if let Some(server) = &settings.server {
        let profile = &settings.profile.value;
        let message = format!(
            "this command works on a store, and profile {profile:?} is a client of {}",
            server.base_url
        );
        return Err(CliError::new(codes::LACKING, message).hint(
            "run it where that server's data is, or choose a profile of kind \"local\" with --profile NAME",
        ));
    }
    prepare_data_dir(&settings.data_dir)?;
    let places = Places {
        root: settings.data_dir.value.clone(),
    };
    for dir in [places.run(), places.logs()] {
        private_dir(&dir)?;
    }
    match &settings.aws {
        None => open_here(settings, places).await,
        Some(aws) => open_aws(settings, aws, places).await,
    }
}

async fn open_here(settings: &Settings, places: Places) -> Result<Local, CliError> {
    let store = SqliteStore::open(&places.store(), StoreOptions::default())
        .map_err(|error| CliError::from(crate::engine::error::EngineError::from(error)))?;
    let store = Arc::new(store);
    let core = Core {
        store: store.clone(),
        blobs: Arc::new(LocalBlobs::new(places.blobs())),
        secrets: Arc::new(LocalSecrets::new(places.secrets())),
        clock: Arc::new(SystemClock),
        ids: Arc::new(SystemIds),
        bell: Arc::new(LocalBell::new(places.run())),
        settings: engine_settings(settings),
    };
    Ok(Local {
        core,
        owner: owner_of(&caller(&LocalIdentity).await?),
        places,
        world: World::Here(store),
    })
}

async fn open_aws(
    settings: &Settings,
    aws: &AwsSettings,
    places: Places,
) -> Result<Local, CliError> {
    let clients = setup::clients(aws).await?;
    let asked = StsIdentity::new(&clients, aws.profile.as_deref());
    let remembered = RememberedIdentity::new(asked, &clients, places.aws_callers());
    let principal = caller(&remembered).await?;
    let bucket = || {
        let account = principal.name.split(':').nth(1).unwrap_or_default();
        format!("{}-{account}-{}", aws.deployment, clients.region())
    };
    let records = aws_store::Places {
        table: aws.table.clone().unwrap_or_else(|| aws.deployment.clone()),
        bucket: aws.bucket.clone().unwrap_or_else(bucket),
        kms_key: aws.kms_key.clone(),
    };
    let shown = format!(
        "table {} and bucket {} in {}",
        records.table,
        records.bucket,
        clients.region()
    );
    let (name, region) = (&principal.name, clients.region());
    let caller = format!("{name} in {region}, table {}", records.table);
    let core = machines::core(settings, aws, &clients, &records, &places);
    Ok(Local {
        core,
        owner: owner_of(&principal),
        places,
        world: World::Aws(Box::new(AwsWorld {
            shown,
            caller,
            clients,
            records,
        })),
    })
}

/// Forgets who callers of AWS are: one of them was not let in.
pub fn forget_callers(settings: &Settings) {
    let places = Places {
        root: settings.data_dir.value.clone(),
    };
    forget(&places.aws_callers());
}

async fn caller(identity: &dyn Identity) -> Result<Principal, CliError> {
    let caller = identity.caller().await;
    caller.map_err(|error| match error {
        IdentityError::Expired(message) => CliError::new(codes::AUTH, message),
        IdentityError::Unavailable(message) => CliError::new(codes::UNAVAILABLE, message),
    })
}

/// Where the profile's Sessions live.
///
/// # Errors
/// It can't be used as it is configured; the message says what to mend.
pub async fn deployment(settings: &Settings) -> Result<Deployed, CliError> {
    match &settings.server {
        None => Ok(Deployed::here(open(settings).await?)),
        Some(server) => Ok(Deployed::elsewhere(Box::new(remote(server)?))),
    }
}

/// The seed of the made-up Sessions that are shown.
const DEMO_SEED: u64 = 1;

/// So many made-up Sessions: nothing of the profile is read, and nothing stays.
pub fn demo(sessions: NonZero<u32>) -> Deployed {
    let demo = Demo::new(sessions, DEMO_SEED, Arc::new(SystemClock));
    Deployed::elsewhere(Box::new(demo))
}

/// What the profile's server has beyond the Agents API. Asking for it shows that it is there, and takes the key.
///
/// # Errors
/// It can't be reached, or does not take the key.
pub async fn extensions(server: &ServerSettings) -> Result<Vec<Extension>, CliError> {
    Ok(remote(server)?.extensions().await?)
}

fn remote(server: &ServerSettings) -> Result<Remote, CliError> {
    let key = match &server.key {
        KeyOrigin::Nowhere => KeySource::None,
        KeyOrigin::Env(name) => KeySource::Env { name: name.clone() },
        KeyOrigin::File(path) => KeySource::File { path: path.clone() },
        KeyOrigin::Command(argv) => KeySource::Command {
            command: shell_words(argv),
            timeout_ms: KEY_COMMAND_MS,
        },
    };
    let read = |path: &PathBuf| {
        std::fs::read(path).map_err(|error| {
            let message = format!("ca_file {} can't be read: {error}", path.display());
            CliError::new(codes::CONFIG_VALUE, message)
        })
    };
    let options = RemoteOptions {
        base_url: server.base_url.clone(),
        key,
        ca_pem: server.ca_file.as_ref().map(read).transpose()?,
        timeout_ms: server.timeout_ms,
    };
    Remote::new(options).map_err(|error| CliError::new(codes::CONFIG_VALUE, error.to_string()))
}

/// Everything that is stored, for a check of all of it.
pub fn inventory(local: &Local) -> Box<dyn Inventory> {
    match &local.world {
        World::Here(store) => {
            let blobs = LocalBlobs::new(local.places.blobs());
            Box::new(LocalInventory::new(Arc::clone(store), blobs))
        }
        World::Aws(aws) => Box::new(AwsInventory::new(&aws.clients, &aws.records)),
    }
}

/// An archive that is written to `file`. What has to be kept aside meanwhile is, in the directory `aside`.
///
/// # Errors
/// The directory can't be written.
pub fn archive_sink(file: std::fs::File, aside: &Path) -> Result<Box<dyn ArchiveSink>, CliError> {
    let writer = TarZstdWriter::new(file, aside).map_err(|error| {
        let message = format!("cannot write beside it in {}: {error}", aside.display());
        CliError::new(codes::INPUT, message).hint("choose a place that you can write to")
    })?;
    Ok(Box::new(writer))
}

/// An archive that is read from a file.
///
/// # Errors
/// The file can't be opened, or is no plain file.
pub fn archive_source(path: &Path) -> Result<Box<dyn ArchiveSource>, CliError> {
    let reader = TarZstdReader::open(path).map_err(|error| {
        let code = match error.kind() {
            std::io::ErrorKind::NotFound => codes::NOT_FOUND,
            _ => codes::INPUT,
        };
        CliError::new(code, format!("cannot read {}: {error}", path.display()))
    })?;
    Ok(Box::new(reader))
}

fn private_dir(path: &Path) -> Result<(), CliError> {
    use std::os::unix::fs::DirBuilderExt;
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
        .map_err(|error| {
            let message = format!("cannot create the directory {}: {error}", path.display());
            CliError::new(codes::DATA_DIR, message)
                .hint("free some space or choose another --data-dir")
        })
}

fn engine_settings(settings: &Settings) -> core::Settings {
    core::Settings {
        lease_ms: settings.limits.lease_ms,
        turn_attempts: settings.limits.turn_attempts,
        recovery: match settings.limits.recovery {
            RecoveryChoice::Continue => Recovery::Continue,
            RecoveryChoice::Fail => Recovery::Fail,
        },
        isolation: isolation(settings),
        network: match &settings.sandbox.network {
            NetworkChoice::Disabled => Network::Disabled,
            NetworkChoice::Enabled => Network::Enabled,
            NetworkChoice::Restricted(domains) => Network::Restricted {
                allowed_domains: domains.clone(),
            },
        },
        subagents: settings.harness.usual == HarnessChoice::Codex,
        tools: ServedTools::of(settings.harness.usual),
        ..core::Settings::default()
    }
}

fn isolation(settings: &Settings) -> Isolation {
    match settings.sandbox.isolation {
        IsolationChoice::Sandbox => Isolation::Sandbox,
        IsolationChoice::UnsafeNone => Isolation::UnsafeNone,
    }
}

/// Where commands run, as the profile says.
///
/// # Errors
/// This very program can't be opened, which it needs as PID 1.
pub fn environments(
    settings: &Settings,
    places: &Places,
) -> Result<Arc<dyn Environments>, CliError> {
    let sandbox = &settings.sandbox;
    let mut config = LocalEnvironmentsConfig::new(places.environments());
    config.bwrap = sandbox.bwrap.clone();
    config.limits.processes = sandbox.pids;
    config.limits.memory_bytes = sandbox.memory_bytes;
    config.limits.cpu_seconds = sandbox.cpu_seconds;
    config.limits.file_bytes = sandbox.file_bytes;
    let environments = LocalEnvironments::new(config)
        .map_err(|error| CliError::new(codes::UNAVAILABLE, error.to_string()))?;
    Ok(Arc::new(environments))
}

/// Commands are refused while the disk of the workspaces has less than this free.
pub fn least_free_bytes() -> u64 {
    EnvironmentLimits::default().free_space_bytes
}

/// The model, as the profile says.
///
/// # Errors
/// The provider is configured wrongly.
pub fn model(settings: &Settings) -> Result<Arc<dyn Model>, CliError> {
    match settings.provider.kind {
        ProviderKind::Demo => Ok(Arc::new(DemoModel)),
        ProviderKind::Responses => {
            let model = HttpModel::new(provider(settings))
                .map_err(|error| CliError::new(codes::CONFIG_VALUE, error.to_string()))?;
            Ok(Arc::new(model))
        }
    }
}

/// The provider of the model, with where its key is.
fn provider(settings: &Settings) -> HttpOptions {
    let provider = &settings.provider;
    let key = match (&provider.api_key, &provider.api_key_command) {
        (Some(key), _) => KeySource::Given(key.clone()),
        (None, Some(argv)) => KeySource::Command {
            command: shell_words(argv),
            timeout_ms: KEY_COMMAND_MS,
        },
        (None, None) => KeySource::Env {
            name: provider.api_key_env.clone(),
        },
    };
    let mut options = HttpOptions::new(provider.base_url.clone(), key);
    options.idle_timeout_ms = provider.timeout_ms;
    options
}

/// How long the command that prints the key may take.
const KEY_COMMAND_MS: u64 = 30_000;

/// Words as one shell command that passes exactly them.
fn shell_words(argv: &[String]) -> String {
    let quoted = argv
        .iter()
        .map(|word| format!("'{}'", word.replace('\'', r"'\''")));
    quoted.collect::<Vec<_>>().join(" ")
}

/// Gives the memory back that this process can do without while it waits.
pub fn give_code_back() {
    process::give_code_back();
}

/// Who this process is, in the form that any other can check.
pub fn process_identity() -> Option<String> {
    ProcessIdentity::current()
        .ok()
        .map(|identity| identity.to_string())
}

/// Who the process with this pid is now; `None` if there is none.
pub fn identity_of(pid: u32) -> Option<String> {
    ProcessIdentity::of(pid)
        .ok()
        .map(|identity| identity.to_string())
}

/// Schema of the store that this program writes.
pub fn schema_version() -> u64 {
    crate::backend::local::store::schema_version()
}

/// Whether the process of that identity lives; `None`: it can't be told, or it is no identity.
pub fn is_alive(identity: &str) -> Option<bool> {
    match ProcessIdentity::parse(identity)?.inspect() {
        Liveness::Running => Some(true),
        Liveness::Gone => Some(false),
        Liveness::Unknown => None,
    }
}

/// Asks the process of that identity to end, and waits so long.
pub async fn end_process(identity: &str, grace: std::time::Duration) -> bool {
    let Some(identity) = ProcessIdentity::parse(identity) else {
        return false;
    };
    let ended = tokio::task::spawn_blocking(move || {
        identity
            .end(grace, std::time::Duration::from_secs(5))
            .is_ok()
    });
    ended.await.unwrap_or(false)
}

/// Removes what crashed puts left behind long ago.
pub async fn sweep(places: &Places) {
    const HOURS_24_MS: u64 = 24 * 3_600_000;
    let now_ms = SystemClock.now_ms();
    let blobs = LocalBlobs::new(places.blobs());
    let secrets = LocalSecrets::new(places.secrets());
    for swept in [
        blobs.sweep_temp(now_ms, HOURS_24_MS).await,
        secrets.sweep_temp(now_ms, HOURS_24_MS).await,
    ] {
        if let Err(error) = swept {
            tracing::warn!(%error, "leftovers of crashed writes could not be removed");
        }
    }
}
