//! A deployment in its AWS account, for commands that look at it, set it up and do away with it.

use std::path::{Path, PathBuf};

use super::{caller, requests};
use crate::backend::aws::client::{AwsClients, AwsOptions};
use crate::backend::aws::fault::Fault;
use crate::backend::aws::identity::StsIdentity;
use crate::backend::aws::setup::account::Account;
use crate::backend::aws::setup::deed::{Deeds, News, Outcome};
use crate::backend::aws::setup::deployment::{Architecture, Deployment};
use crate::backend::aws::setup::desired::Kind;
use crate::backend::aws::setup::plan::{self, Step};
use crate::backend::aws::setup::program::{Program, ProgramError};
use crate::backend::aws::setup::rules::HARM;
use crate::cli::config::{AwsSettings, Settings};
use crate::cli::out::{CliError, codes};

/// Which deployment, where the command line says otherwise than the profile.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// Its name.
    pub deployment: Option<String>,
    /// Its region.
    pub region: Option<String>,
    /// ARN of its key.
    pub kms_key: Option<String>,
    /// Intel and AMD instead of Graviton.
    pub x86_64: bool,
    /// The network of the workers.
    pub vpc: Option<String>,
    /// Table and bucket only.
    pub without_workers: bool,
}

/// A deployment in its account.
pub struct Setup {
    account: Account,
    kinds: &'static [Kind],
    /// Who asks, as AWS knows it.
    pub caller: String,
    profile: Option<String>,
}

/// How something stands against what is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// As it should be.
    Right,
    /// It does not exist.
    Create,
    /// It differs.
    Change,
    /// It differs and can't be changed.
    Fixed,
    /// Nobody lets us look.
    Hidden,
}

impl Standing {
    /// In a table.
    pub fn name(self) -> &'static str {
        match self {
            Standing::Right => plan::Standing::AsItShouldBe.name(),
            Standing::Create => plan::Standing::Create.name(),
            Standing::Change => plan::Standing::Change.name(),
            Standing::Fixed => plan::Standing::Fixed.name(),
            Standing::Hidden => plan::Standing::Unseen.name(),
        }
    }
}

/// One property of one resource.
#[derive(Clone, Debug)]
pub struct Line {
    /// `table`, `bucket`, …
    pub resource: &'static str,
    /// What the resource is called.
    pub name: String,
    /// Which property.
    pub property: &'static str,
    /// How it stands.
    pub standing: Standing,
    /// What it is, if the resource exists.
    pub found: Option<String>,
    /// What it should be.
    pub wanted: String,
    /// Content is lost as long as it is like this.
    pub loses: bool,
}

/// Something that was done to the account, or was to be.
#[derive(Clone, Debug)]
pub struct Done {
    /// What it was.
    pub what: String,
    /// `done`, `not done`, `may have been done`.
    pub outcome: &'static str,
    /// What kept it from being done, and who must act.
    pub error: Option<(codes::Code, String)>,
}

/// What is told meanwhile.
pub enum Told<'t> {
    /// This is being done.
    Begun(&'t str),
    /// This ended.
    Ended(Done),
}

/// What somebody may want to keep.
pub struct Holdings {
    /// Machines that are not gone.
    pub machines: Vec<String>,
    /// What data there is, in words; empty: none.
    pub data: Vec<String>,
}

/// Clients of the profile's account.
///
/// # Errors
/// Nothing says which region.
pub async fn clients(aws: &AwsSettings) -> Result<AwsClients, CliError> {
    let options = AwsOptions {
        profile: aws.profile.clone(),
        region: aws.region.clone(),
        endpoint_url: aws.endpoint_url.clone(),
        everything_url: aws.told_endpoint().map(str::to_owned),
        ..AwsOptions::default()
    };
    let clients = AwsClients::connect(&options).await.map_err(|error| {
        CliError::new(codes::CONFIG_VALUE, error.to_string())
            .hint("set aws.region in the profile, or AWS_REGION")
    })?;
    requests::count(&clients);
    Ok(clients)
}

/// Asks AWS who calls, and from that where the deployment is.
///
/// # Errors
/// Nothing names a region, nobody is logged in, or a word is no name.
pub async fn connect(settings: &Settings, wanted: &Wanted) -> Result<Setup, CliError> {
    let mut aws = settings.aws.clone().unwrap_or_default();
    if let Some(deployment) = &wanted.deployment
        && *deployment != aws.deployment
    {
        // What the profile calls otherwise is another deployment's.
        (aws.table, aws.bucket) = (None, None);
        aws.deployment = deployment.clone();
    }
    aws.region = wanted.region.clone().or(aws.region);
    let clients = clients(&aws).await?;
    let principal = caller(&StsIdentity::new(&clients, aws.profile.as_deref())).await?;
    let account = principal.name.split(':').nth(1).unwrap_or_default();
    let architecture = match wanted.x86_64 {
        true => Architecture::X86_64,
        false => Architecture::Arm64,
    };
    let key = wanted.kms_key.as_ref().or(aws.kms_key.as_ref());
    let (name, key) = (&aws.deployment, key.map(String::as_str));
    let deployment = Deployment::new(name, account, clients.region(), key, architecture)?;
    let deployment = deployment.with_places(aws.table.clone(), aws.bucket.clone());
    Ok(Setup {
        account: Account::new(&clients, deployment, wanted.vpc.clone()),
        kinds: match wanted.without_workers {
            true => &Kind::WITHOUT_WORKERS,
            false => &Kind::ALL,
        },
        caller: principal.name,
        profile: aws.profile,
    })
}

impl Setup {
    /// The deployment's name, its account and its region.
    pub fn place(&self) -> (&str, &str, &str) {
        let deployment = self.account.deployment();
        (&deployment.name, &deployment.account, &deployment.region)
    }

    /// Whether it has workers on instances.
    pub fn has_workers(&self) -> bool {
        self.kinds.contains(&Kind::LaunchTemplate)
    }

    /// What the processors of workers are called.
    pub fn architecture(&self) -> &'static str {
        self.account.deployment().architecture.name()
    }

    /// Everything against what is wanted.
    ///
    /// # Errors
    /// AWS could not be asked.
    pub async fn lines(&self) -> Result<Vec<Line>, CliError> {
        let steps = self.account.plan(self.kinds).await;
        let steps = steps.map_err(|fault| self.failed(&fault))?;
        Ok(steps.into_iter().map(line).collect())
    }

    /// The program that workers run: in this file, or this very one.
    ///
    /// # Errors
    /// It can't be read, or is for other processors than those of the workers.
    pub async fn program(&self, file: Option<&Path>) -> Result<Program, CliError> {
        let own = || {
            std::env::current_exe().map_err(|error| {
                let message = format!("this program does not know where it is: {error}");
                CliError::new(codes::UNAVAILABLE, message)
            })
        };
        let path: PathBuf = match file {
            Some(file) => file.to_owned(),
            None => own()?,
        };
        let read = tokio::task::spawn_blocking(move || Program::of(&path)).await;
        let read = read.map_err(|error| CliError::bug(error.to_string()))?;
        let program = read.map_err(|error| {
            let code = match &error {
                ProgramError::Unreadable { .. } | ProgramError::Foreign(_) => codes::INPUT,
            };
            CliError::new(code, error.to_string())
        })?;
        let (is, wanted) = (program.architecture, self.account.deployment().architecture);
        match (is == wanted, file) {
            (true, _) => Ok(program),
            (false, file) => {
                let what = match file {
                    Some(file) => file.display().to_string(),
                    None => "this program".to_owned(),
                };
                let message = format!(
                    "workers run on {}, and {what} is for {}",
                    wanted.name(),
                    is.name()
                );
                Err(CliError::new(codes::INPUT, message)
                    .hint("name a program for them: --binary FILE")
                    .hint("or choose the other processors, or no workers: --x86-64, --without-workers"))
            }
        }
    }

    /// Whether the program is where workers get it.
    ///
    /// # Errors
    /// AWS could not be asked.
    pub async fn program_line(&self, program: &Program) -> Result<Line, CliError> {
        let there = match self.account.has_program(program).await {
            Ok(there) => there,
            // The bucket is not there yet.
            Err(fault) if fault.is("NoSuchBucket") => false,
            Err(fault) => return Err(self.failed(&fault)),
        };
        let (standing, found) = match there {
            true => (Standing::Right, Some("uploaded".to_owned())),
            false => (Standing::Create, None),
        };
        Ok(Line {
            resource: "program",
            name: program.object(),
            property: program.architecture.name(),
            standing,
            found,
            wanted: "uploaded".to_owned(),
            loses: false,
        })
    }

    /// Programs that are uploaded for these processors, or for any, by their digests.
    ///
    /// # Errors
    /// AWS could not be asked.
    pub async fn programs(&self, architecture: Option<&str>) -> Result<Vec<String>, CliError> {
        let found = self.account.programs().await;
        let found = found.map_err(|fault| self.failed(&fault))?.into_iter();
        let ours = found.filter(|one| architecture.is_none_or(|for_| one.architecture == for_));
        Ok(ours.map(|one| one.sha256).collect())
    }

    /// Makes everything as it should be, as far as that can be done.
    pub async fn make(
        &self,
        program: Option<&Program>,
        told: &mut (dyn FnMut(Told<'_>) + Send),
    ) -> Vec<Done> {
        let mut hear = |news: News<'_>| told(self.told(news));
        let mut deeds = Deeds::new(&mut hear);
        for kind in self.kinds {
            self.account.make(*kind, &mut deeds).await;
            if deeds.are_over() {
                return self.all(deeds);
            }
        }
        if let Some(program) = program {
            self.account.upload(program, &mut deeds).await;
        }
        self.all(deeds)
    }

    /// What would be lost.
    ///
    /// # Errors
    /// AWS could not be asked.
    pub async fn holdings(&self) -> Result<Holdings, CliError> {
        let found = self.account.holdings().await;
        let found = found.map_err(|fault| self.failed(&fault))?;
        let deployment = self.account.deployment();
        let records = format!("the records in table {}", deployment.table());
        let content = format!("the content in bucket {}", deployment.bucket());
        let secrets = format!("{} values in Secrets Manager", found.secrets);
        let data = [
            (found.records, records),
            (found.content, content),
            (found.secrets > 0, secrets),
        ];
        let data = data.into_iter().filter(|(there, _)| *there);
        Ok(Holdings {
            machines: found.machines,
            data: data.map(|(_, words)| words).collect(),
        })
    }

    /// Does away with everything.
    pub async fn unmake(&self, told: &mut (dyn FnMut(Told<'_>) + Send)) -> Vec<Done> {
        let mut hear = |news: News<'_>| told(self.told(news));
        let mut deeds = Deeds::new(&mut hear);
        self.account.unmake(&mut deeds).await;
        self.all(deeds)
    }

    fn told<'t>(&self, news: News<'t>) -> Told<'t> {
        match news {
            News::Begun(what) => Told::Begun(what),
            News::Ended(deed) => Told::Ended(self.done(&deed.what, &deed.outcome)),
        }
    }

    fn all(&self, deeds: Deeds<'_>) -> Vec<Done> {
        let all = deeds.all();
        let done = all.iter().map(|deed| self.done(&deed.what, &deed.outcome));
        done.collect()
    }

    fn done(&self, what: &str, outcome: &Outcome) -> Done {
        Done {
            what: what.to_owned(),
            outcome: outcome.name(),
            error: outcome
                .fault()
                .map(|fault| (code(fault), fault.to_string())),
        }
    }

    fn failed(&self, fault: &Fault) -> CliError {
        let error = CliError::new(code(fault), fault.to_string());
        match fault {
            Fault::Credentials(_) => {
                let profile = self.profile.as_deref();
                let profile = profile.map(|name| format!(" --profile {name}"));
                let profile = profile.unwrap_or_default();
                error.hint(format!("log in again: aws sso login{profile}"))
            }
            Fault::Denied(_) => error.hint(
                "rat-things aws policy operator prints what who sets a deployment up must be permitted",
            ),
            _ => error,
        }
    }
}

/// Who must act.
fn code(fault: &Fault) -> codes::Code {
    match fault {
        Fault::Unreachable(_) | Fault::Throttled(_) => codes::UNAVAILABLE,
        Fault::Uncertain(_) => codes::UNKNOWN_OUTCOME,
        Fault::Credentials(_) | Fault::Denied(_) => codes::AUTH,
        Fault::Refused { .. } => codes::CONFLICT,
    }
}

fn line(step: Step) -> Line {
    Line {
        resource: step.kind.name(),
        name: step.resource,
        property: step.property,
        standing: match step.standing {
            plan::Standing::AsItShouldBe => Standing::Right,
            plan::Standing::Create => Standing::Create,
            plan::Standing::Change => Standing::Change,
            plan::Standing::Fixed => Standing::Fixed,
            plan::Standing::Unseen => Standing::Hidden,
        },
        loses: step.found.as_ref().is_some_and(|is| is.contains(HARM)),
        found: step.found,
        wanted: step.wanted,
    }
}
