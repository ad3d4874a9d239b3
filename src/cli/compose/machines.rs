//! Workers on machines of an account: how they are launched, and what one that runs finds around itself.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::setup::clients;
use super::{Local, Places, World, engine_settings, private_dir};
use crate::api::Secret;
use crate::backend::aws::blobs::S3Blobs;
use crate::backend::aws::client::AwsClients;
use crate::backend::aws::compute::{
    self, Beside, Boot, Ec2Compute, Ec2Config, LaunchOptions, WorkerProgram,
};
use crate::backend::aws::fault::Fault;
use crate::backend::aws::instance::Instance;
use crate::backend::aws::secrets::{ManagedSecrets, named_value};
use crate::backend::aws::setup::program::Program;
use crate::backend::aws::store::{self as aws_store, DynamoStore};
use crate::backend::local::bell::LocalBell;
use crate::backend::local::clock::SystemClock;
use crate::backend::local::ids::SystemIds;
use crate::cli::config::{self, AwsSettings, Settings, prepare_data_dir};
use crate::cli::out::{CliError, codes};
use crate::engine::core::Core;
use crate::engine::ports::{Compute, ExecutionId};
use crate::engine::reached::Reached;

/// Where a machine's worker keeps its workspaces. The disk ends with the machine.
const DATA_DIR: &str = "/var/lib/rat-things";
/// The command of a machine's worker, before what names its Session.
const COMMAND: [&str; 5] = ["--profile", "worker", "--data-dir", DATA_DIR, "machine"];
/// Variables that lead to other endpoints than AWS' own are passed on.
const ENDPOINTS: &str = "AWS_ENDPOINT_URL";
/// A machine launches nothing.
const NOT_PASSED_ON: &str = "AWS_ENDPOINT_URL_EC2";

/// The engine over an account's records.
pub(super) fn core(
    settings: &Settings,
    aws: &AwsSettings,
    clients: &AwsClients,
    records: &aws_store::Places,
    places: &Places,
) -> Core {
    Core {
        store: Arc::new(DynamoStore::new(clients, records)),
        blobs: Arc::new(S3Blobs::new(clients, records)),
        secrets: Arc::new(ManagedSecrets::new(
            clients,
            &aws.deployment,
            &records.bucket,
        )),
        clock: Arc::new(SystemClock),
        ids: Arc::new(SystemIds),
        // Wakes who is on this machine; everybody else looks at the agenda.
        bell: Arc::new(LocalBell::new(places.run())),
        settings: engine_settings(settings),
    }
}

/// Where the runs of a profile execute: `processes`, and in an account machines besides.
///
/// # Errors
/// This very program can't be read, which is what machines run.
pub(super) async fn beside(
    settings: &Settings,
    local: &Local,
    processes: Arc<dyn Compute>,
) -> Result<Arc<dyn Compute>, CliError> {
    let (World::Aws(world), Some(aws)) = (&local.world, &settings.aws) else {
        return Ok(processes);
    };
    let workers = &aws.workers;
    let template = format!("{}-worker", aws.deployment);
    let boot = match workers.on_machines {
        false => None,
        true => {
            let sha256 = match &workers.program {
                Some(sha256) => sha256.clone(),
                None => this_program().await?,
            };
            let program = WorkerProgram::new(&world.clients, &world.records.bucket, &sha256);
            Some((boot(settings, world), program))
        }
    };
    let config = Ec2Config {
        launch: LaunchOptions {
            deployment: aws.deployment.clone(),
            template: workers.launch_template.clone().unwrap_or(template),
            instance_type: workers.instance_type.clone(),
            subnets: workers.subnets.clone(),
            spot: workers.spot,
        },
        boot,
    };
    let machines = Ec2Compute::new(&world.clients, config);
    Ok(Arc::new(Beside::new(
        machines,
        processes,
        workers.on_machines,
    )))
}

/// The digest of this very program.
async fn this_program() -> Result<String, CliError> {
    let read = || Program::of(Path::new("/proc/self/exe")).map_err(|error| error.to_string());
    let read = tokio::task::spawn_blocking(read).await;
    let read = read.unwrap_or_else(|error| Err(error.to_string()));
    let program = read.map_err(|error| {
        let message = format!("instances run this program, and it can't be read: {error}");
        CliError::new(codes::UNAVAILABLE, message).hint("set aws.worker_program in the profile")
    })?;
    Ok(program.sha256)
}

/// What every machine of the profile is told.
fn boot(settings: &Settings, world: &super::AwsWorld) -> Boot {
    let records = &world.records;
    let told = settings.aws.as_ref().and_then(AwsSettings::told_endpoint);
    let mut besides = vec![
        ("aws.region", world.clients.region()),
        ("aws.table", records.table.as_str()),
        ("aws.bucket", records.bucket.as_str()),
    ];
    if let Some(deployment) = settings.aws.as_ref().map(|aws| aws.deployment.as_str()) {
        besides.push(("aws.deployment", deployment));
    }
    let vars = std::env::vars_os();
    let vars = vars
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    Boot {
        config_toml: config::for_machines(&settings.entries(), &besides),
        env: passed_on(told, vars),
        command: COMMAND.map(str::to_owned).to_vec(),
    }
}

/// Which of these variables a machine gets. An endpoint of the command line is in its configuration, where no variable goes before it.
fn passed_on(
    told: Option<&str>,
    vars: impl Iterator<Item = (String, String)>,
) -> Vec<(String, String)> {
    let leads_on = |name: &str| name.starts_with(ENDPOINTS) && name != NOT_PASSED_ON;
    let mut env: Vec<_> = vars
        .filter(|(name, _)| told.is_none() && leads_on(name))
        .collect();
    env.sort();
    env
}

/// Reads the provider's key, if the profile says that it is a secret of the account.
///
/// # Errors
/// There is no such secret, or it can't be read now.
pub async fn read_provider_key(settings: &mut Settings) -> Result<(), CliError> {
    let (Some(aws), Some(name)) = (&settings.aws, &settings.provider.api_key_secret) else {
        return Ok(());
    };
    let clients = clients(aws).await?;
    let value = named_value(&clients, name).await.map_err(|fault| {
        let code = match &fault {
            Fault::Credentials(_) | Fault::Denied(_) => codes::AUTH,
            Fault::Refused { .. } => codes::CONFIG_VALUE,
            Fault::Unreachable(_) | Fault::Uncertain(_) | Fault::Throttled(_) => codes::UNAVAILABLE,
        };
        CliError::new(
            code,
            format!("the provider's key can't be read from the secret {name}: {fault}"),
        )
    })?;
    settings.provider.api_key = Some(Secret::new(value.reveal().trim()));
    Ok(())
}

/// What the worker of a machine stands on.
pub struct Machine {
    /// The engine.
    pub core: Core,
    /// Its store, which knows when it was reached last.
    pub reached: Arc<Reached>,
    /// Where everything of this machine is.
    pub places: Places,
}

/// Opens the engine for the worker of a machine. It asks nobody who it is: its Session belongs to somebody else.
///
/// # Errors
/// The profile is not one that a daemon wrote for a machine, or the data directory can't be used.
pub async fn machine(settings: &Settings) -> Result<Machine, CliError> {
    let Some(aws) = &settings.aws else {
        let message = "the worker of a machine needs a profile of kind \"aws\"";
        return Err(CliError::new(codes::USAGE, message));
    };
    let (Some(table), Some(bucket)) = (&aws.table, &aws.bucket) else {
        let message = "the worker of a machine is told table and bucket by its daemon";
        return Err(CliError::new(codes::CONFIG_VALUE, message));
    };
    prepare_data_dir(&settings.data_dir)?;
    let places = Places {
        root: settings.data_dir.value.clone(),
    };
    for dir in [places.run(), places.logs()] {
        private_dir(&dir)?;
    }
    let clients = clients(aws).await?;
    let records = aws_store::Places {
        table: table.clone(),
        bucket: bucket.clone(),
        kms_key: aws.kms_key.clone(),
    };
    let mut core = core(settings, aws, &clients, &records, &places);
    let reached = Arc::new(Reached::new(core.store));
    core.store = reached.clone();
    Ok(Machine {
        core,
        reached,
        places,
    })
}

/// The execution with this token.
///
/// # Errors
/// It is no token.
pub fn execution(token: &str) -> Result<ExecutionId, CliError> {
    let execution = compute::execution_of(token);
    match compute::token_of(&execution) {
        Some(_) => Ok(execution),
        None => Err(CliError::new(
            codes::INPUT,
            format!("{token:?} is no token of an execution"),
        )),
    }
}

/// Whether an execution has a machine to itself.
pub fn is_on_machine(execution: &ExecutionId) -> bool {
    compute::is_machine(execution)
}

/// The machine itself, as its place knows it.
#[derive(Clone)]
pub struct ThisMachine(Instance);

impl ThisMachine {
    /// Asks nothing.
    pub fn here() -> ThisMachine {
        ThisMachine(Instance::here())
    }

    /// Makes sure that it was launched for this deployment, Session and execution; answers what it is called.
    ///
    /// # Errors
    /// It was not, or that can't be found out.
    pub async fn prove(
        &self,
        deployment: &str,
        session: &str,
        token: &str,
    ) -> Result<String, CliError> {
        let belongs = self.0.belongs().await;
        let belongs =
            belongs.map_err(|error| CliError::new(codes::UNAVAILABLE, error.to_string()))?;
        for (what, is, told) in [
            ("deployment", &belongs.deployment, deployment),
            ("session", &belongs.session, session),
            ("execution", &belongs.execution, token),
        ] {
            if is != told {
                let message = format!(
                    "this machine, {}, was launched for the {what} {is:?}, not {told:?}",
                    belongs.instance
                );
                return Err(CliError::new(codes::CONFLICT, message));
            }
        }
        Ok(belongs.instance)
    }

    /// Waits until its place is about to take it back. What can't be asked is not so.
    pub async fn called_back(&self, look: Duration) {
        loop {
            match self.0.is_called_back().await {
                Ok(true) => return,
                Ok(false) => {}
                Err(error) => tracing::debug!(%error, "a notice may be missed"),
            }
            tokio::time::sleep(look).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_gets_the_variables_that_lead_to_its_services_unless_the_command_line_says_where_they_are()
     {
        let vars = || {
            let names = [
                "AWS_ENDPOINT_URL_S3",
                "AWS_ENDPOINT_URL",
                "AWS_ENDPOINT_URL_EC2",
                "AWS_PROFILE",
                "HOME",
            ];
            { names.into_iter() }.map(|name| (name.to_owned(), "http://one.example".to_owned()))
        };
        let env = passed_on(None, vars());
        let names: Vec<_> = env.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3"]);
        assert_eq!(passed_on(Some("http://two.example"), vars()), []);
    }
}
