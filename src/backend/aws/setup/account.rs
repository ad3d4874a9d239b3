//! An account as whoever sets it up sees it: what is there, against what is wanted, and what is done about the difference.

use std::time::Duration;

use super::deed::{Deeds, Outcome};
use super::deployment::Deployment;
use super::desired::{Kind, resource};
use super::plan::{Found, Properties, Seen, Standing, Step, plan, steps};
use crate::backend::aws::calls::{Purpose, for_purpose};
use crate::backend::aws::client::AwsClients;
use crate::backend::aws::fault::Fault;
use crate::backend::aws::store::pause::Pauses;

/// What passes by itself is waited for so long.
const PATIENCE: Duration = Duration::from_secs(300);
/// Times a resource is looked at before what still differs is left to another run.
const ROUNDS: usize = 3;

/// A deployment in its account.
#[derive(Clone)]
pub struct Account {
    pub(super) db: aws_sdk_dynamodb::Client,
    pub(super) s3: aws_sdk_s3::Client,
    pub(super) ec2: aws_sdk_ec2::Client,
    pub(super) clients: AwsClients,
    pub(super) deployment: Deployment,
    /// The network of the workers; `None`: the account's default one.
    pub(super) vpc: Option<String>,
    patience: Duration,
}

impl Account {
    /// A deployment, reached by these clients. Sends nothing.
    pub fn new(clients: &AwsClients, deployment: Deployment, vpc: Option<String>) -> Account {
        Account {
            db: clients.dynamodb(),
            s3: clients.s3(),
            ec2: clients.ec2(),
            clients: clients.clone(),
            deployment,
            vpc,
            patience: PATIENCE,
        }
    }

    /// The same, with another patience; for tests.
    pub fn patient_for(self, patience: Duration) -> Account {
        Account { patience, ..self }
    }

    /// Which deployment it is.
    pub fn deployment(&self) -> &Deployment {
        &self.deployment
    }

    /// What is there of these kinds. What nobody lets us look at is found as hidden.
    ///
    /// # Errors
    /// AWS could not be asked at all.
    pub async fn found(&self, kinds: &[Kind]) -> Result<Found, Fault> {
        let mut found = Found::new();
        for kind in kinds {
            if let Some(properties) = self.look(*kind).await? {
                found.insert(*kind, properties);
            }
        }
        Ok(found)
    }

    /// What is there of these kinds, against what is wanted.
    ///
    /// # Errors
    /// AWS could not be asked at all.
    pub async fn plan(&self, kinds: &[Kind]) -> Result<Vec<Step>, Fault> {
        let found = self.found(kinds).await?;
        let wanted: Vec<_> = kinds.iter().map(|kind| self.wanted(*kind)).collect();
        Ok(plan(&wanted, &found))
    }

    fn wanted(&self, kind: Kind) -> super::desired::Resource {
        resource(&self.deployment, kind)
    }

    async fn look(&self, kind: Kind) -> Result<Option<Properties>, Fault> {
        let looked = for_purpose(Purpose::Care, async {
            match kind {
                Kind::Table => self.look_at_table().await,
                Kind::Bucket => self.look_at_bucket().await,
                Kind::SecurityGroup => self.look_at_group().await,
                Kind::LaunchTemplate => self.look_at_template().await,
            }
        });
        match looked.await {
            Err(fault) if hides(&fault) => {
                let properties = self.wanted(kind).properties.into_iter();
                let hidden = properties.map(|one| (one.name, Seen::Hidden(fault.to_string())));
                Ok(Some(hidden.collect()))
            }
            looked => looked,
        }
    }

    /// Makes a resource be as it should be, as far as that can be done: begun anew, it goes on with what is left.
    pub async fn make(&self, kind: Kind, deeds: &mut Deeds<'_>) {
        let wanted = self.wanted(kind);
        for _ in 0..ROUNDS {
            let found = match self.look(kind).await {
                Ok(found) => found,
                Err(fault) => {
                    deeds.end(
                        format!("look at the {}", named(&wanted)),
                        Outcome::of(Err(fault)),
                    );
                    return;
                }
            };
            let steps = steps(&wanted, found.as_ref());
            if found.is_none() {
                let what = format!("create the {}", named(&wanted));
                deeds.begin(&what);
                let made = for_purpose(Purpose::Care, self.create(kind)).await;
                let outcome = self.settle(kind, None, made).await;
                if !deeds.end(what, outcome) {
                    return;
                }
                continue;
            }
            let due = |step: &&Step| step.standing == Standing::Change;
            let mut properties: Vec<&'static str> =
                steps.iter().filter(due).map(|step| step.property).collect();
            if kind == Kind::LaunchTemplate {
                // A version has all of them.
                properties.truncate(1);
            }
            for property in &properties {
                let what = match kind {
                    Kind::LaunchTemplate => format!("new version of the {}", named(&wanted)),
                    _ => format!("{property} of the {}", named(&wanted)),
                };
                deeds.begin(&what);
                let set = for_purpose(Purpose::Care, self.set(kind, property)).await;
                let outcome = self.settle(kind, Some(property), set).await;
                if !deeds.end(what, outcome) && deeds.are_over() {
                    return;
                }
            }
            // Only what was just made has more that can be set.
            return;
        }
    }

    /// An answer that was lost is made up for by looking.
    async fn settle(
        &self,
        kind: Kind,
        property: Option<&str>,
        answer: Result<(), Fault>,
    ) -> Outcome {
        if !matches!(answer, Err(Fault::Uncertain(_))) {
            return Outcome::of(answer);
        }
        let is_so = match (self.look(kind).await, property) {
            (Ok(Some(_)), None) => true,
            (Ok(Some(found)), Some(property)) => {
                let steps = steps(&self.wanted(kind), Some(&found));
                let mut of_it = steps.iter().filter(|step| step.property == property);
                of_it.all(|step| step.standing == Standing::AsItShouldBe)
            }
            _ => false,
        };
        match is_so {
            true => Outcome::Done,
            false => Outcome::of(answer),
        }
    }

    async fn create(&self, kind: Kind) -> Result<(), Fault> {
        match kind {
            Kind::Table => self.create_table().await,
            Kind::Bucket => self.create_bucket().await,
            Kind::SecurityGroup => self.create_group().await,
            Kind::LaunchTemplate => self.create_template().await,
        }
    }

    async fn set(&self, kind: Kind, property: &str) -> Result<(), Fault> {
        match kind {
            Kind::Table => self.set_of_table(property).await,
            Kind::Bucket => self.set_of_bucket(property).await,
            Kind::SecurityGroup => self.set_of_group(property).await,
            Kind::LaunchTemplate => self.new_version().await,
        }
    }

    /// Repeats what AWS does not do yet, as long as there is patience.
    pub(super) async fn patiently(
        &self,
        not_yet: &[&str],
        attempt: impl AsyncFn() -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        let mut pauses = self.pauses();
        loop {
            let fault = match attempt().await {
                Err(fault) if passes(&fault, not_yet) => fault,
                ended => return ended,
            };
            if !pauses.pause().await {
                return Err(fault);
            }
        }
    }

    pub(super) fn pauses(&self) -> Pauses {
        Pauses::new(self.patience)
    }
}

fn named(resource: &super::desired::Resource) -> String {
    format!("{} {}", resource.kind.name(), resource.name)
}

/// Whether the account is there and does not show one thing.
fn hides(fault: &Fault) -> bool {
    matches!(fault, Fault::Denied(_) | Fault::Refused { .. })
}

fn passes(fault: &Fault, not_yet: &[&str]) -> bool {
    match fault {
        Fault::Throttled(_) => true,
        Fault::Refused { code, .. } => not_yet.contains(&code.as_str()),
        _ => false,
    }
}

/// Puts a property where it belongs: what is not permitted or not known there is hidden, and all else ends the look.
pub(super) fn see(
    properties: &mut Properties,
    name: &'static str,
    seen: Result<String, Fault>,
) -> Result<(), Fault> {
    let seen = match seen {
        Ok(words) => Seen::Is(words),
        Err(fault) if hides(&fault) => Seen::Hidden(fault.to_string()),
        Err(fault) => return Err(fault),
    };
    properties.insert(name, seen);
    Ok(())
}

/// `on` or `off`.
pub(super) fn on(is_on: bool) -> String {
    let word = if is_on { "on" } else { "off" };
    word.to_owned()
}
