//! The metadata service of a machine, in the version that wants a token first.

use std::sync::{Arc, Mutex};

use serde_json::json;

use super::super::ec2::{Instance, Region};
use super::super::listen::Reply;
use super::super::wire::Message;
use super::locked;

/// Where a machine finds it.
pub(super) const ADDRESS: &str = "169.254.169.254";
const ACCOUNT: &str = "123456789012";
/// For how long a token is wanted, and for how long it is good.
const LIFE: &str = "x-aws-ec2-metadata-token-ttl-seconds";
/// A token's longest life.
const TOKEN_SECONDS_MAX: u32 = 21_600;

/// What one machine's service knows.
pub(super) struct Metadata {
    id: String,
    region: Region,
    tokens: Mutex<Vec<String>>,
    /// When EC2 will take the machine back.
    notice: Arc<Mutex<Option<String>>>,
}

type Answered = (u16, String);

impl Metadata {
    pub(super) fn new(id: &str, region: Region, notice: Arc<Mutex<Option<String>>>) -> Metadata {
        Metadata {
            id: id.to_owned(),
            region,
            tokens: Mutex::default(),
            notice,
        }
    }

    pub(super) fn answer(&self, request: &Message) -> Reply {
        let (status, body) = self.answered(request);
        let length = body.len();
        // A token is told with its life.
        let life = match request.header(LIFE) {
            Some(seconds) if status == 200 => format!("{LIFE}: {seconds}\r\n"),
            _ => String::new(),
        };
        let head = format!("content-type: text/plain\r\ncontent-length: {length}\r\n{life}");
        Reply::Bytes(format!("HTTP/1.1 {status} Answered\r\n{head}\r\n{body}").into_bytes())
    }

    fn answered(&self, request: &Message) -> Answered {
        let mut line = request.start.split(' ');
        let (method, path) = (
            line.next().unwrap_or_default(),
            line.next().unwrap_or_default(),
        );
        let said = |name: &'static str| {
            let said =
                self.look(|instance| instance.said(&["MetadataOptions", name]).map(str::to_owned));
            said.flatten()
        };
        if said("HttpEndpoint").as_deref() == Some("disabled") {
            return (403, String::new());
        }
        match (method, path) {
            // Whoever forwards requests of others is no program of this machine.
            ("PUT", "/latest/api/token") if request.header("x-forwarded-for").is_some() => {
                (403, String::new())
            }
            ("PUT", "/latest/api/token") => self.token(request),
            ("GET", path) => {
                let token = request.header("x-aws-ec2-metadata-token");
                let required = said("HttpTokens").as_deref() == Some("required");
                let known =
                    token.map(|token| locked(&self.tokens).iter().any(|known| known == token));
                match known {
                    Some(true) => self.get(path),
                    None if !required => self.get(path),
                    _ => (401, String::new()),
                }
            }
            _ => (405, String::new()),
        }
    }

    fn token(&self, request: &Message) -> Answered {
        let seconds = request.header(LIFE);
        let seconds = seconds.and_then(|seconds| seconds.parse().ok());
        if !seconds.is_some_and(|seconds: u32| (1..=TOKEN_SECONDS_MAX).contains(&seconds)) {
            return (400, String::new());
        }
        let mut tokens = locked(&self.tokens);
        let token = format!("token-{}-{}", self.id, tokens.len());
        tokens.push(token.clone());
        (200, token)
    }

    fn look<T>(&self, look: impl FnOnce(&Instance) -> T) -> Option<T> {
        self.region.look(&self.id, look)
    }

    fn get(&self, path: &str) -> Answered {
        let path = path.trim_end_matches('/');
        let found = match path {
            "/latest/dynamic/instance-identity/document" => {
                let region = self.region.name();
                self.look(|instance| self.document(instance, &region))
            }
            "/latest/user-data" => self.look(Instance::user_data),
            _ => path
                .strip_prefix("/latest/meta-data")
                .and_then(|path| self.data(path)),
        };
        found.map_or((404, String::new()), |body| (200, body))
    }

    fn data(&self, path: &str) -> Option<String> {
        let list = |names: &[&str]| Some(names.join("\n"));
        if let Some(key) = path.strip_prefix("/tags/instance") {
            return self.tag(key.trim_start_matches('/'));
        }
        match path {
            "" => list(&[
                "ami-id",
                "iam/",
                "instance-id",
                "instance-life-cycle",
                "instance-type",
                "local-hostname",
                "local-ipv4",
                "placement/",
                "spot/",
                "tags/",
            ]),
            "/instance-id" => Some(self.id.clone()),
            "/ami-id" => self.look(|i| i.image().to_owned()),
            "/instance-type" => self.look(|i| i.instance_type().to_owned()),
            "/instance-life-cycle" => {
                self.look(|i| if i.is_spot { "spot" } else { "on-demand" }.to_owned())
            }
            "/local-ipv4" => self.look(|i| i.address().to_owned()),
            "/local-hostname" => self.look(|i| format!("ip-{}", i.address().replace('.', "-"))),
            "/placement" => list(&["availability-zone", "region"]),
            "/placement/availability-zone" => self.look(|i| i.zone.clone()),
            "/placement/region" => Some(self.region.name()),
            "/spot/instance-action" => {
                let time = locked(&self.notice).clone()?;
                Some(json!({"action": "terminate", "time": time}).to_string())
            }
            "/spot/termination-time" => locked(&self.notice).clone(),
            "/iam/info" => {
                let profile = self.profile()?;
                let arn = format!("arn:aws:iam::{ACCOUNT}:instance-profile/{profile}");
                Some(json!({"Code": "Success", "InstanceProfileArn": arn}).to_string())
            }
            "/iam/security-credentials" => self.profile(),
            _ => {
                let role = path.strip_prefix("/iam/security-credentials/")?;
                (self.profile()? == role).then(credentials)
            }
        }
    }

    /// The name of the instance profile, which its role has, too.
    fn profile(&self) -> Option<String> {
        let profile = self.look(|instance| {
            let arn = instance.said(&["IamInstanceProfile", "Arn"]);
            let name = arn.and_then(|arn| arn.rsplit('/').next());
            name.or_else(|| instance.said(&["IamInstanceProfile", "Name"]))
                .map(str::to_owned)
        });
        profile.flatten()
    }

    fn tag(&self, key: &str) -> Option<String> {
        let found = self.look(|instance| {
            let shown = instance.said(&["MetadataOptions", "InstanceMetadataTags"]);
            shown.filter(|shown| *shown == "enabled")?;
            match key {
                "" => Some(instance.tags.keys().cloned().collect::<Vec<_>>().join("\n")),
                key => instance.tags.get(key).cloned(),
            }
        });
        found.flatten()
    }

    fn document(&self, instance: &Instance, region: &str) -> String {
        json!({
            "accountId": ACCOUNT,
            "availabilityZone": instance.zone,
            "imageId": instance.image(),
            "instanceId": self.id,
            "instanceType": instance.instance_type(),
            "privateIp": instance.address(),
            "region": region,
            "version": "2017-09-30",
        })
        .to_string()
    }
}

/// Those that the emulators take, for the next hours.
fn credentials() -> String {
    let now = jiff::Timestamp::now();
    let time = |hours: i64| {
        let at = now + jiff::SignedDuration::from_hours(hours);
        at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
    };
    json!({
        "Code": "Success",
        "LastUpdated": time(0),
        "Type": "AWS-HMAC",
        "AccessKeyId": "test",
        "SecretAccessKey": "test",
        "Token": "of-this-machine",
        "Expiration": time(6),
    })
    .to_string()
}
