//! Launches. The same token with the same parameters is the same launch, in the region or in the zone that the request names.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;

use super::super::query::Params;
use super::super::refusal::Refusal;
use super::instances::{Instance, Power, State, reservation};
use super::tags::{self, Tags};
use super::{Account, Answer, now, required};

/// A token counts within a zone if the request says which, and otherwise in the region.
pub(super) type Token = (String, Option<String>);

pub(super) const PARAMETERS: &[&str] = &[
    "BlockDeviceMapping",
    "ClientToken",
    "CpuOptions",
    "CreditSpecification",
    "DisableApiTermination",
    "EbsOptimized",
    "IamInstanceProfile",
    "ImageId",
    "InstanceInitiatedShutdownBehavior",
    "InstanceMarketOptions",
    "InstanceType",
    "KeyName",
    "LaunchTemplate",
    "MaintenanceOptions",
    "MaxCount",
    "MetadataOptions",
    "MinCount",
    "Monitoring",
    "NetworkInterface",
    "Placement",
    "SecurityGroupId",
    "SubnetId",
    "TagSpecification",
    "UserData",
];

const TOKEN_CHARS_MAX: usize = 64;
const USER_DATA_BYTES_MAX: usize = 16 * 1024;

/// What a launch can give tags to.
const TAGGED: &[&str] = &[
    "instance",
    "volume",
    "network-interface",
    "spot-instances-request",
];

/// What a launch was found to want.
struct Wanted {
    count: usize,
    data: Params,
    image: String,
    zone: String,
    subnet: String,
    groups: Vec<String>,
    is_spot: bool,
    tags: Tags,
    volume_tags: Tags,
}

impl Account {
    pub(super) fn run(&mut self, params: &Params) -> Answer {
        let token = self.token(params)?;
        let asked = params.without(&["ClientToken"]);
        if let Some((before, reservation)) =
            token.as_ref().and_then(|token| self.launches.get(token))
        {
            if *before != asked {
                let message = "Arguments on this idempotent request are inconsistent with arguments used in previous request(s).";
                return Err(Refusal::new("IdempotentParameterMismatch", message));
            }
            return self.again(&reservation.clone());
        }
        let wanted = self.wanted(params)?;
        let reservation_id = self.id("r");
        for number in 0..wanted.count {
            let instance = self.instance(&wanted, &reservation_id, number);
            if self.machines {
                self.powers.push(Power::On(instance.id.clone()));
            }
            self.instances.push(instance);
        }
        if let Some(token) = token {
            self.launches.insert(token, (asked, reservation_id.clone()));
        }
        self.again(&reservation_id)
    }

    /// The launch as it is now.
    fn again(&self, id: &str) -> Answer {
        let members: Vec<&Instance> = { self.instances.iter() }
            .filter(|instance| instance.reservation == id)
            .collect();
        if members.iter().all(|instance| instance.is_over()) {
            let message =
                "The client token was used by a launch whose instance has been terminated";
            return Err(Refusal::new("IdempotentInstanceTerminated", message));
        }
        Ok(reservation(id, &members))
    }

    fn token(&self, params: &Params) -> Result<Option<Token>, Refusal> {
        let Some(token) = params
            .text(&["ClientToken"])
            .filter(|token| !token.is_empty())
        else {
            return Ok(None);
        };
        if token.len() > TOKEN_CHARS_MAX || !token.is_ascii() {
            let message =
                format!("Client token can't be longer than {TOKEN_CHARS_MAX} ASCII characters");
            return Err(Refusal::value(message));
        }
        let zone = params
            .text(&["Placement", "AvailabilityZone"])
            .map(str::to_owned);
        let subnet = subnet(params).map(|id| self.subnet(id)).transpose()?;
        let zone = zone.or_else(|| subnet.map(|subnet| subnet.zone.clone()));
        Ok(Some((token.to_owned(), zone)))
    }

    fn wanted(&mut self, params: &Params) -> Result<Wanted, Refusal> {
        let count = |name| {
            let number = required(params, name)?.parse();
            number.map_err(|_| Refusal::value(format!("Invalid value for {name}")))
        };
        let (least, most): (usize, usize) = (count("MinCount")?, count("MaxCount")?);
        if least == 0 || most < least {
            return Err(Refusal::value("Invalid number of instances"));
        }
        tags::only_for(params, TAGGED)?;
        let named = params.get("LaunchTemplate");
        let below = named.map(|named| self.template_data(named)).transpose()?;
        let (below, system) = below.unwrap_or_default();
        // A tag of the request replaces only the one of the template with the same key.
        let tags = |kind| tags::given(params, kind, tags::given(&below, kind, Tags::new())?);
        let (mut tags, volume_tags) = (tags("instance")?, tags("volume")?);
        let data = params
            .over(&below)
            .without(&["LaunchTemplate", "TagSpecification"]);
        if data.text(&["MetadataOptions", "InstanceMetadataTags"]) == Some("enabled") {
            tags::fit_for_metadata(&tags)?;
        }
        tags.extend(system);
        check_type(data.text(&["InstanceType"]))?;
        check_user_data(data.text(&["UserData"]))?;
        let image = image(required(&data, "ImageId")?)?;
        let here = match (subnet(&data), data.text(&["Placement", "AvailabilityZone"])) {
            (Some(id), _) => self.subnet(id)?,
            (None, Some(zone)) => self.subnet_in(zone)?,
            (None, None) => &self.network.subnets[0],
        };
        let (zone, subnet) = (here.zone.clone(), here.id.clone());
        let mut groups = data.texts("SecurityGroupId");
        for interface in data.list("NetworkInterface") {
            groups.extend(interface.texts("SecurityGroupId"));
        }
        for id in &groups {
            self.group(id)?;
        }
        let market = data.text(&["InstanceMarketOptions", "MarketType"]);
        if let Some(other) = market.filter(|market| *market != "spot") {
            return Err(Refusal::value(format!(
                "Invalid value '{other}' for MarketType"
            )));
        }
        Ok(Wanted {
            count: most,
            image,
            zone,
            subnet,
            groups,
            is_spot: market.is_some(),
            tags,
            volume_tags,
            data,
        })
    }

    fn instance(&mut self, wanted: &Wanted, reservation: &str, number: usize) -> Instance {
        let spot = |account: &mut Account| account.id("sir");
        let here = self.subnet(&wanted.subnet);
        let address = here.map(|subnet| subnet.address(self.ids));
        // It was found when the launch was looked at.
        let address = address.unwrap_or_default();
        Instance {
            id: self.id("i"),
            state: State::Pending,
            tags: wanted.tags.clone(),
            volume_tags: wanted.volume_tags.clone(),
            zone: wanted.zone.clone(),
            subnet: wanted.subnet.clone(),
            is_spot: wanted.is_spot,
            data: wanted.data.clone(),
            reservation: reservation.to_owned(),
            number,
            groups: wanted.groups.clone(),
            image: wanted.image.clone(),
            address,
            volume: self.id("vol"),
            request: wanted.is_spot.then(|| spot(self)),
            launched: now(),
            reason: None,
            pace: self.pace,
        }
    }
}

/// The subnet that a request names, itself or for its first network interface.
fn subnet(params: &Params) -> Option<&str> {
    let interfaces = params.list("NetworkInterface").into_iter();
    let theirs = interfaces.filter_map(|interface| interface.text(&["SubnetId"]));
    params
        .text(&["SubnetId"])
        .or_else(|| theirs.into_iter().next())
}

/// An image by its id, or by the public parameter that names it.
fn image(named: &str) -> Result<String, Refusal> {
    match named.strip_prefix("resolve:ssm:") {
        Some(name) if name.starts_with('/') => Ok("ami-0123456789abcdef0".to_owned()),
        Some(name) => Err(Refusal::value(format!("Invalid parameter name {name}"))),
        None => match Refusal::id("InvalidAMIID", "ami", "image", named) {
            malformed if malformed.is("InvalidAMIID.Malformed") => Err(malformed),
            _ => Ok(named.to_owned()),
        },
    }
}

fn check_type(named: Option<&str>) -> Result<(), Refusal> {
    let plain = |part: &str| {
        !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
    };
    match named.map(|named| named.split_once('.')) {
        None => Ok(()),
        Some(Some((family, size))) if plain(family) && plain(size) => Ok(()),
        Some(_) => Err(Refusal::value(format!(
            "Invalid value '{}' for InstanceType.",
            named.unwrap_or_default()
        ))),
    }
}

fn check_user_data(given: Option<&str>) -> Result<(), Refusal> {
    match given.map(|given| BASE64_STANDARD.decode(given)) {
        None => Ok(()),
        Some(Err(_)) => Err(Refusal::new(
            "InvalidUserData.Malformed",
            "Invalid BASE64 encoding of user data.",
        )),
        Some(Ok(bytes)) if bytes.len() > USER_DATA_BYTES_MAX => {
            let message = format!("User data is limited to {USER_DATA_BYTES_MAX} bytes");
            Err(Refusal::value(message))
        }
        Some(Ok(_)) => Ok(()),
    }
}
