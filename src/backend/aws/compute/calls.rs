//! The only use of EC2's client for machines: three requests, in and out of plain data.

use aws_sdk_ec2::types::{
    Filter, Instance, InstanceLifecycleType, InstanceMarketOptionsRequest, InstanceStateName,
    InstanceType, LaunchTemplateSpecification, MarketType, ResourceType, ShutdownBehavior, Tag,
    TagSpecification,
};

use super::launch::{Order, Phase, Seen};
use crate::backend::aws::calls::{Purpose, for_purpose};
use crate::backend::aws::client::AwsClients;
use crate::backend::aws::fault::Fault;
use crate::backend::aws::setup::deployment::DEPLOYMENT_TAG;

/// Instances of one answer.
const PAGE: i32 = 1_000;
/// Instances ended by one request.
const ENDED_AT_ONCE: usize = 100;

/// EC2, for the machines of one deployment.
#[derive(Clone, Debug)]
pub(super) struct Ec2Calls {
    client: aws_sdk_ec2::Client,
    deployment: String,
}

impl Ec2Calls {
    pub(super) fn new(clients: &AwsClients, deployment: &str) -> Ec2Calls {
        Ec2Calls {
            client: clients.machines(),
            deployment: deployment.to_owned(),
        }
    }

    /// Launches one instance; repeated, the same one is answered.
    pub(super) async fn run(&self, order: &Order) -> Result<Seen, Fault> {
        let template = LaunchTemplateSpecification::builder()
            .launch_template_name(&order.template)
            .version("$Default");
        let tags: Vec<Tag> = { order.tags.iter() }
            .map(|(key, value)| Tag::builder().key(key).value(value).build())
            .collect();
        let tagged = [
            ResourceType::Instance,
            ResourceType::Volume,
            ResourceType::NetworkInterface,
        ]
        .map(|kind| {
            TagSpecification::builder()
                .resource_type(kind)
                .set_tags(Some(tags.clone()))
                .build()
        });
        let spot = InstanceMarketOptionsRequest::builder().market_type(MarketType::Spot);
        let run = self
            .client
            .run_instances()
            .client_token(&order.client_token)
            .min_count(1)
            .max_count(1)
            .launch_template(template.build())
            .set_instance_type(order.instance_type.as_deref().map(InstanceType::from))
            .set_subnet_id(order.subnet.clone())
            .set_instance_market_options(order.spot.then(|| spot.build()))
            .instance_initiated_shutdown_behavior(ShutdownBehavior::Terminate)
            .set_tag_specifications(Some(tagged.to_vec()))
            .user_data(&order.user_data);
        let answer = for_purpose(Purpose::Machine, run.send()).await;
        let answer = answer.map_err(|error| Fault::of(&error))?;
        let instance = answer.instances().first().ok_or_else(|| {
            Fault::Uncertain("EC2 says that it launched, and names no instance".to_owned())
        })?;
        Ok(seen(instance))
    }

    /// The deployment's instances, or those with this tag besides.
    pub(super) async fn describe(&self, tag: Option<(&str, &str)>) -> Result<Vec<Seen>, Fault> {
        let with = |(key, value): (&str, &str)| {
            let filter = Filter::builder().name(format!("tag:{key}"));
            filter.values(value).build()
        };
        let filters = [Some((DEPLOYMENT_TAG, self.deployment.as_str())), tag];
        let filters: Vec<Filter> = filters.into_iter().flatten().map(with).collect();
        let mut found = Vec::new();
        let mut next = None;
        loop {
            let describe = self
                .client
                .describe_instances()
                .set_filters(Some(filters.clone()))
                .max_results(PAGE)
                .set_next_token(next.take());
            let page = for_purpose(Purpose::Machine, describe.send()).await;
            let page = page.map_err(|error| Fault::of(&error))?;
            for reservation in page.reservations() {
                found.extend(reservation.instances().iter().map(seen));
            }
            let token = page.next_token().filter(|token| !token.is_empty());
            next = token.map(str::to_owned);
            if next.is_none() {
                return Ok(found);
            }
        }
    }

    /// Has these instances ended. That it was asked for is all that this says.
    pub(super) async fn end(&self, ids: &[String]) -> Result<(), Fault> {
        for some in ids.chunks(ENDED_AT_ONCE) {
            let end = self
                .client
                .terminate_instances()
                .set_instance_ids(Some(some.to_vec()));
            let ended = for_purpose(Purpose::Machine, end.send()).await;
            match ended.map_err(|error| Fault::of(&error)) {
                Ok(_) => {}
                // What is not there any more has ended.
                Err(fault) if fault.is("InvalidInstanceID.NotFound") => {}
                Err(fault) => return Err(fault),
            }
        }
        Ok(())
    }
}

fn seen(instance: &Instance) -> Seen {
    let words = |text: Option<&str>| text.unwrap_or_default().to_owned();
    let placement = instance.placement();
    Seen {
        id: words(instance.instance_id()),
        phase: phase(instance.state().and_then(|state| state.name())),
        tags: { instance.tags().iter() }
            .map(|tag| (words(tag.key()), words(tag.value())))
            .collect(),
        launched_ms: { instance.launch_time() }
            .and_then(|at| at.to_millis().ok())
            .and_then(|ms| u64::try_from(ms).ok())
            .unwrap_or_default(),
        kind: words(instance.instance_type().map(InstanceType::as_str)),
        spot: instance.instance_lifecycle() == Some(&InstanceLifecycleType::Spot),
        zone: words(placement.and_then(|placement| placement.availability_zone())),
    }
}

fn phase(name: Option<&InstanceStateName>) -> Phase {
    match name {
        Some(InstanceStateName::Pending) => Phase::Pending,
        Some(InstanceStateName::Running) => Phase::Running,
        Some(InstanceStateName::Stopping) => Phase::Stopping,
        Some(InstanceStateName::Stopped) => Phase::Stopped,
        Some(InstanceStateName::ShuttingDown) => Phase::ShuttingDown,
        Some(InstanceStateName::Terminated) => Phase::Terminated,
        Some(_) | None => Phase::Other,
    }
}
