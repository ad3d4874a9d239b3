//! Instances: what becomes of them, and how they are described.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;

use super::super::query::Params;
use super::super::refusal::Refusal;
use super::super::xml::{Xml, fields, items, text};
use super::filters::{Values, matches, page};
use super::tags::{self, Tags};
use super::{Account, Answer, OWNER, now};

/// The instances that one request can name.
const IDS_MAX: usize = 1000;

/// How EC2 calls what becomes of an instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Pending,
    Running,
    ShuttingDown,
    Terminated,
    Stopped,
}

impl State {
    pub(crate) fn name(self) -> &'static str {
        match self {
            State::Pending => "pending",
            State::Running => "running",
            State::ShuttingDown => "shutting-down",
            State::Terminated => "terminated",
            State::Stopped => "stopped",
        }
    }

    fn code(self) -> u32 {
        match self {
            State::Pending => 0,
            State::Running => 16,
            State::ShuttingDown => 32,
            State::Terminated => 48,
            State::Stopped => 80,
        }
    }

    fn xml(self) -> Xml {
        fields([("code", text(self.code())), ("name", text(self.name()))])
    }
}

/// Why an instance ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// It was shut down from inside.
    Itself,
    /// What it ran on failed.
    Host,
    /// EC2 needed the capacity that was let at the spot price.
    Reclaimed,
}

/// How many requests to describe instances something takes. Time does not matter.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Pace {
    /// They do not show a new instance yet.
    pub(crate) unseen: u32,
    /// They show it as pending.
    pub(crate) pending: u32,
    /// They show an instance that is to be terminated as shutting down.
    pub(crate) shutting_down: u32,
}

pub(crate) struct Instance {
    pub(crate) id: String,
    pub(crate) state: State,
    pub(crate) tags: Tags,
    pub(crate) volume_tags: Tags,
    pub(crate) zone: String,
    pub(crate) subnet: String,
    pub(crate) is_spot: bool,
    /// The request, and below it what its template says.
    pub(super) data: Params,
    pub(super) reservation: String,
    pub(super) number: usize,
    pub(super) groups: Vec<String>,
    pub(super) image: String,
    pub(super) address: String,
    pub(super) volume: String,
    pub(super) request: Option<String>,
    pub(super) launched: String,
    pub(crate) reason: Option<(&'static str, String)>,
    pub(super) pace: Pace,
}

/// What happens to the machine of an instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Power {
    /// It is switched on.
    On(String),
    /// It is switched off, for good.
    Off(String),
}

impl Instance {
    /// What a launch or its template says.
    pub(crate) fn said(&self, path: &[&str]) -> Option<&str> {
        self.data.text(path)
    }

    pub(super) fn is_visible(&self) -> bool {
        self.pace.unseen == 0
    }

    pub(super) fn is_over(&self) -> bool {
        self.state == State::Terminated
    }

    /// What it runs first, decoded.
    pub(crate) fn user_data(&self) -> String {
        let said = self.said(&["UserData"]).unwrap_or_default();
        // It was looked at when it was launched.
        let bytes = BASE64_STANDARD.decode(said).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    pub(crate) fn image(&self) -> &str {
        &self.image
    }

    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    pub(crate) fn instance_type(&self) -> &str {
        self.said(&["InstanceType"]).unwrap_or("m1.small")
    }

    fn end(&mut self, state: State, code: &'static str, message: &str) {
        self.state = state;
        self.reason = Some((code, message.to_owned()));
    }

    /// One request later. What has to be switched off is told.
    fn step(&mut self, machines: bool) -> Option<Power> {
        match self.state {
            // A machine says itself when it is up.
            State::Pending if machines => None,
            State::Pending if self.pace.pending > 0 => {
                self.pace.pending -= 1;
                None
            }
            State::Pending => {
                self.state = State::Running;
                None
            }
            State::ShuttingDown if self.pace.shutting_down > 0 => {
                self.pace.shutting_down -= 1;
                None
            }
            State::ShuttingDown if machines => Some(Power::Off(self.id.clone())),
            State::ShuttingDown => {
                self.state = State::Terminated;
                None
            }
            State::Running | State::Terminated | State::Stopped => None,
        }
    }

    pub(super) fn xml(&self) -> Xml {
        let monitoring = fields([("state", text("disabled"))]);
        let placement = fields([
            ("availabilityZone", text(&self.zone)),
            ("tenancy", text("default")),
        ]);
        let group = |id: &String| fields([("groupId", text(id))]);
        let disk = fields([
            ("deviceName", text("/dev/xvda")),
            (
                "ebs",
                fields([
                    ("volumeId", text(&self.volume)),
                    ("status", text("attached")),
                    ("attachTime", text(&self.launched)),
                    ("deleteOnTermination", text(true)),
                ]),
            ),
        ]);
        let arm = self
            .instance_type()
            .split(|c: char| c.is_ascii_digit())
            .nth(1);
        let arm = arm.is_some_and(|rest| {
            rest.split('.')
                .next()
                .is_some_and(|rest| rest.contains('g'))
        });
        let option = |name: &str, usual: &str| {
            let said = self.said(&["MetadataOptions", name]);
            text(said.unwrap_or(usual))
        };
        let metadata = fields([
            ("state", text("applied")),
            ("httpTokens", option("HttpTokens", "optional")),
            (
                "httpPutResponseHopLimit",
                option("HttpPutResponseHopLimit", "1"),
            ),
            ("httpEndpoint", option("HttpEndpoint", "enabled")),
            (
                "instanceMetadataTags",
                option("InstanceMetadataTags", "disabled"),
            ),
        ]);
        // What has ended is at no place in a network any more.
        let here = |value: &str| (!self.is_over()).then(|| text(value));
        let xml = fields([
            ("instanceId", text(&self.id)),
            ("imageId", text(&self.image)),
            ("instanceState", self.state.xml()),
            ("amiLaunchIndex", text(self.number)),
            ("instanceType", text(self.instance_type())),
            ("launchTime", text(&self.launched)),
            ("placement", placement),
            ("monitoring", monitoring),
            ("architecture", text(if arm { "arm64" } else { "x86_64" })),
            ("rootDeviceType", text("ebs")),
            ("rootDeviceName", text("/dev/xvda")),
            (
                "blockDeviceMapping",
                items((!self.is_over()).then_some(disk)),
            ),
            (
                "groupSet",
                items(self.groups.iter().filter(|_| !self.is_over()).map(group)),
            ),
            ("tagSet", tags::xml(&self.tags)),
            ("metadataOptions", metadata),
        ]);
        let reason = self.reason.as_ref();
        xml.with("subnetId", here(&self.subnet))
            .with("privateIpAddress", here(&self.address))
            .with("clientToken", self.said(&["ClientToken"]).map(text))
            .with("keyName", self.said(&["KeyName"]).map(text))
            .with("instanceLifecycle", self.is_spot.then(|| text("spot")))
            .with("spotInstanceRequestId", self.request.as_ref().map(text))
            .with(
                "iamInstanceProfile",
                self.profile_arn().map(|arn| fields([("arn", text(arn))])),
            )
            .with("reason", reason.map(|(_, message)| text(message)))
            .with(
                "stateReason",
                reason.map(|(code, message)| {
                    fields([("code", text(code)), ("message", text(message))])
                }),
            )
    }

    fn profile_arn(&self) -> Option<String> {
        let named = |name| format!("arn:aws:iam::{OWNER}:instance-profile/{name}");
        let arn = self.said(&["IamInstanceProfile", "Arn"]).map(str::to_owned);
        arn.or_else(|| self.said(&["IamInstanceProfile", "Name"]).map(named))
    }
}

impl Account {
    /// All instances, those that nobody sees yet as well.
    pub(in super::super) fn instances(&self) -> &[Instance] {
        &self.instances
    }

    /// EC2 does not know it any more, as it is with one that ended an hour ago.
    pub(in super::super) fn forget(&mut self, id: &str) {
        self.instances.retain(|instance| instance.id != id);
    }

    /// What takes its time is done.
    pub(in super::super) fn hurry(&mut self) -> Vec<Power> {
        let machines = self.machines;
        let hurried = self.instances.iter_mut().filter_map(|instance| {
            instance.pace = Pace::default();
            instance.step(machines)
        });
        hurried.collect()
    }

    /// An instance's machine is up.
    pub(in super::super) fn up(&mut self, id: &str) {
        let mut instances = self.instances.iter_mut();
        let pending = instances.find(|i| i.id == id && i.state == State::Pending);
        if let Some(instance) = pending {
            instance.state = State::Running;
        }
    }

    /// An instance has ended.
    pub(in super::super) fn ended(&mut self, id: &str, why: Ended) {
        let Some(instance) = self.instances.iter_mut().find(|instance| instance.id == id) else {
            return;
        };
        let behaviour = instance.said(&["InstanceInitiatedShutdownBehavior"]);
        let terminates = behaviour == Some("terminate");
        match (instance.state, why) {
            (State::Terminated | State::Stopped, _) => {}
            // The reason of that is known already.
            (State::ShuttingDown, _) => instance.state = State::Terminated,
            (_, Ended::Itself) if !terminates => instance.end(
                State::Stopped,
                "Client.InstanceInitiatedShutdown",
                "Client.InstanceInitiatedShutdown: Instance initiated shutdown",
            ),
            (_, Ended::Itself) => instance.end(
                State::Terminated,
                "Client.InstanceInitiatedShutdown",
                "Client.InstanceInitiatedShutdown: Instance initiated shutdown",
            ),
            (_, Ended::Host) => instance.end(
                State::Terminated,
                "Server.InternalError",
                "Server.InternalError: Internal error on launch or of the host",
            ),
            (_, Ended::Reclaimed) => instance.end(
                State::Terminated,
                "Server.SpotInstanceTermination",
                "Server.SpotInstanceTermination: Spot Instance termination",
            ),
        }
    }

    /// An instance that is seen has this id.
    fn known(&self, id: &str) -> Result<(), Refusal> {
        let mut known = self
            .instances
            .iter()
            .filter(|instance| instance.is_visible());
        match known.any(|instance| instance.id == id) {
            true => Ok(()),
            false => Err(Refusal::id("InvalidInstanceID", "i", "instance", id)),
        }
    }

    pub(super) fn describe_instances(&mut self, params: &Params) -> Answer {
        let ids = params.texts("InstanceId");
        if !ids.is_empty() && params.get("MaxResults").is_some() {
            let message = "The parameter instancesSet cannot be used with the parameter maxResults";
            return Err(Refusal::new("InvalidParameterCombination", message));
        }
        for id in &ids {
            self.known(id)?;
        }
        let mut found = Vec::new();
        let machines = self.machines;
        // Later pages are of the same moment.
        if params.get("NextToken").is_none() {
            let stepped = self
                .instances
                .iter_mut()
                .filter_map(|instance| instance.step(machines));
            self.powers.extend(stepped);
        }
        for instance in &self.instances {
            let token = instance.said(&["ClientToken"]);
            let spot = instance.is_spot.then_some("spot");
            let code = instance.state.code().to_string();
            let values = Values::from([
                ("instance-id", vec![instance.id.as_str()]),
                ("instance-state-name", vec![instance.state.name()]),
                ("instance-state-code", vec![code.as_str()]),
                ("instance-type", vec![instance.instance_type()]),
                ("instance-lifecycle", Vec::from_iter(spot)),
                ("client-token", Vec::from_iter(token)),
                ("availability-zone", vec![instance.zone.as_str()]),
                ("subnet-id", vec![instance.subnet.as_str()]),
                ("image-id", vec![instance.image.as_str()]),
                ("reservation-id", vec![instance.reservation.as_str()]),
            ]);
            let named = ids.is_empty() || ids.contains(&instance.id);
            if matches(params, &values, &instance.tags)? && named && instance.is_visible() {
                found.push(instance);
            }
        }
        let (found, next) = page(params, found, self.page)?;
        let answer = fields([("reservationSet", reservations(&found))]).with("nextToken", next);
        for instance in &mut self.instances {
            instance.pace.unseen = instance.pace.unseen.saturating_sub(1);
        }
        Ok(answer)
    }

    pub(super) fn terminate(&mut self, params: &Params) -> Answer {
        let ids = params.texts("InstanceId");
        if ids.is_empty() {
            return Err(Refusal::missing("InstanceId"));
        }
        if ids.len() > IDS_MAX {
            return Err(Refusal::value(format!("More than {IDS_MAX} instances")));
        }
        // One that is none keeps all others as they are.
        for id in &ids {
            self.known(id)?;
        }
        let (pace, machines) = (self.pace, self.machines);
        let mut changes = Vec::new();
        for instance in self
            .instances
            .iter_mut()
            .filter(|instance| ids.contains(&instance.id))
        {
            let before = instance.state;
            if !instance.is_over() && before != State::ShuttingDown {
                let message = format!("User initiated ({})", now());
                instance.end(
                    State::ShuttingDown,
                    "Client.UserInitiatedShutdown",
                    &message,
                );
                instance.pace.shutting_down = pace.shutting_down;
                if machines && pace.shutting_down == 0 {
                    self.powers.push(Power::Off(instance.id.clone()));
                }
            }
            changes.push(fields([
                ("instanceId", text(&instance.id)),
                ("currentState", instance.state.xml()),
                ("previousState", before.xml()),
            ]));
        }
        Ok(fields([("instancesSet", items(changes))]))
    }
}

/// Instances by the launches that they came with.
pub(super) fn reservations(instances: &[&Instance]) -> Xml {
    let mut ids: Vec<&str> = Vec::new();
    for instance in instances {
        if !ids.contains(&instance.reservation.as_str()) {
            ids.push(&instance.reservation);
        }
    }
    items(ids.into_iter().map(|id| reservation(id, instances)))
}

/// One launch.
pub(super) fn reservation(id: &str, instances: &[&Instance]) -> Xml {
    let members = instances
        .iter()
        .filter(|instance| instance.reservation == id);
    fields([
        ("reservationId", text(id)),
        ("ownerId", text(OWNER)),
        ("groupSet", items([])),
        (
            "instancesSet",
            items(members.map(|instance| instance.xml())),
        ),
    ])
}
