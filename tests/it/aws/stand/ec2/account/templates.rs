//! Launch templates and their versions.

use super::super::query::Params;
use super::super::refusal::Refusal;
use super::super::xml::{Xml, fields, items, text};
use super::filters::{Values, matches, page};
use super::tags::{self, Tags};
use super::{Account, Answer, OWNER, now, required};

pub(super) struct Template {
    pub(super) id: String,
    name: String,
    created: String,
    default: usize,
    /// The first is 1.
    versions: Vec<Version>,
    pub(super) tags: Tags,
    /// Tokens of requests, and which version each of them made or made the default.
    tokens: Vec<(String, Params, usize)>,
}

struct Version {
    description: Option<String>,
    created: String,
    data: Params,
}

/// What a template may say.
const DATA: &[&str] = &[
    "BlockDeviceMapping",
    "CpuOptions",
    "CreditSpecification",
    "DisableApiStop",
    "DisableApiTermination",
    "EbsOptimized",
    "EnclaveOptions",
    "HibernationOptions",
    "IamInstanceProfile",
    "ImageId",
    "InstanceInitiatedShutdownBehavior",
    "InstanceMarketOptions",
    "InstanceType",
    "KeyName",
    "MaintenanceOptions",
    "MetadataOptions",
    "Monitoring",
    "NetworkInterface",
    "Placement",
    "PrivateDnsNameOptions",
    "SecurityGroup",
    "SecurityGroupId",
    "TagSpecification",
    "UserData",
];

impl Account {
    pub(super) fn create_template(&mut self, params: &Params) -> Answer {
        let name = required(params, "LaunchTemplateName")?.to_owned();
        let plain = |c: char| c.is_ascii_alphanumeric() || "()./_-".contains(c);
        if !(3..=128).contains(&name.len()) || !name.chars().all(plain) {
            let message = format!("Launch template name {name} is not valid");
            return Err(Refusal::new(
                "InvalidLaunchTemplateName.MalformedException",
                message,
            ));
        }
        tags::only_for(params, &["launch-template"])?;
        let tags = tags::given(params, "launch-template", Tags::new())?;
        let version = version(params, None)?;
        if let Some(template) = self.templates.iter().find(|template| template.name == name) {
            if template.repeated(params)?.is_some() {
                return Ok(fields([("launchTemplate", template.xml())]));
            }
            let message = format!("Launch template name already in use: {name}");
            return Err(Refusal::new(
                "InvalidLaunchTemplateName.AlreadyExistsException",
                message,
            ));
        }
        let mut template = Template {
            id: self.id("lt"),
            name,
            created: now(),
            default: 1,
            versions: vec![version],
            tags,
            tokens: Vec::new(),
        };
        template.remember(params, 1);
        let answer = fields([("launchTemplate", template.xml())]);
        self.templates.push(template);
        Ok(answer)
    }

    pub(super) fn create_template_version(&mut self, params: &Params) -> Answer {
        let template = self.template(params)?;
        let number = match template.repeated(params)? {
            Some(number) => number,
            None => {
                let source = params.text(&["SourceVersion"]);
                let source = source.map(|source| template.numbered(source)).transpose()?;
                let below = source.map(|number| template.versions[number - 1].data.clone());
                let version = version(params, below)?;
                template.versions.push(version);
                let number = template.versions.len();
                template.remember(params, number);
                number
            }
        };
        Ok(fields([(
            "launchTemplateVersion",
            template.version_xml(number),
        )]))
    }

    pub(super) fn modify_template(&mut self, params: &Params) -> Answer {
        let template = self.template(params)?;
        if let Some(version) = params.text(&["SetDefaultVersion"]) {
            template.default = template.numbered(version)?;
        }
        Ok(fields([("launchTemplate", template.xml())]))
    }

    pub(super) fn delete_template(&mut self, params: &Params) -> Answer {
        let template = self.template(params)?;
        let (id, answer) = (
            template.id.clone(),
            fields([("launchTemplate", template.xml())]),
        );
        self.templates.retain(|template| template.id != id);
        Ok(answer)
    }

    pub(super) fn describe_templates(&mut self, params: &Params) -> Answer {
        let (ids, names) = (
            params.texts("LaunchTemplateId"),
            params.texts("LaunchTemplateName"),
        );
        for id in &ids {
            self.by_id(id)?;
        }
        for name in &names {
            self.by_name(name)?;
        }
        let mut found = Vec::new();
        for template in &self.templates {
            let values = Values::from([
                ("launch-template-name", vec![template.name.as_str()]),
                ("create-time", vec![template.created.as_str()]),
            ]);
            let named = (ids.is_empty() && names.is_empty())
                || ids.contains(&template.id)
                || names.contains(&template.name);
            if matches(params, &values, &template.tags)? && named {
                found.push(template.xml());
            }
        }
        let (found, next) = page(params, found, self.page)?;
        Ok(fields([("launchTemplates", items(found))]).with("nextToken", next))
    }

    pub(super) fn describe_template_versions(&mut self, params: &Params) -> Answer {
        let usual = self.page;
        let template = self.template(params)?;
        let wanted = params.texts("LaunchTemplateVersion");
        let wanted = wanted.iter().map(|version| template.numbered(version));
        let wanted: Vec<usize> = wanted.collect::<Result<_, _>>()?;
        let bound = |name| params.text(&[name]).and_then(|number| number.parse().ok());
        let (from, to) = (
            bound("MinVersion").unwrap_or(1),
            bound("MaxVersion").unwrap_or(usize::MAX),
        );
        let mut found = Vec::new();
        // The newest comes first.
        for number in (1..=template.versions.len()).rev() {
            let is_default = (number == template.default).to_string();
            let values = Values::from([("is-default-version", vec![is_default.as_str()])]);
            let named = wanted.is_empty() || wanted.contains(&number);
            if matches(params, &values, &Tags::new())? && named && (from..=to).contains(&number) {
                found.push(template.version_xml(number));
            }
        }
        let (found, next) = page(params, found, usual)?;
        Ok(fields([("launchTemplateVersionSet", items(found))]).with("nextToken", next))
    }

    /// The template that these parameters name, by id or by name.
    fn template(&mut self, params: &Params) -> Result<&mut Template, Refusal> {
        match (
            params.text(&["LaunchTemplateId"]),
            params.text(&["LaunchTemplateName"]),
        ) {
            (Some(id), None) => self.by_id(id),
            (None, Some(name)) => self.by_name(name),
            (None, None) => Err(Refusal::missing("LaunchTemplateId")),
            (Some(_), Some(_)) => Err(Refusal::new(
                "InvalidParameterCombination",
                "Either a launch template ID or a name, not both",
            )),
        }
    }

    fn by_id(&mut self, id: &str) -> Result<&mut Template, Refusal> {
        let mut templates = self.templates.iter_mut();
        let found = templates.find(|template| template.id == id);
        found.ok_or_else(|| Refusal::id("InvalidLaunchTemplateId", "lt", "launch template", id))
    }

    fn by_name(&mut self, name: &str) -> Result<&mut Template, Refusal> {
        let mut templates = self.templates.iter_mut();
        let found = templates.find(|template| template.name == name);
        found.ok_or_else(|| {
            let message = format!(
                "The specified launch template, with template name {name}, does not exist."
            );
            Refusal::new("InvalidLaunchTemplateName.NotFoundException", message)
        })
    }

    /// What the template says that a launch names, and the tags that AWS gives to its instances.
    pub(super) fn template_data(&mut self, named: &Params) -> Result<(Params, Tags), Refusal> {
        let template = self.template(named)?;
        let version = named.text(&["Version"]).unwrap_or("$Default");
        let number = template.numbered(version)?;
        let tags = Tags::from([
            ("aws:ec2launchtemplate:id".to_owned(), template.id.clone()),
            (
                "aws:ec2launchtemplate:version".to_owned(),
                number.to_string(),
            ),
        ]);
        Ok((template.versions[number - 1].data.clone(), tags))
    }
}

impl Template {
    /// The number of a version.
    fn numbered(&self, version: &str) -> Result<usize, Refusal> {
        let number = match version {
            "$Default" => Some(self.default),
            "$Latest" => Some(self.versions.len()),
            number => number.parse().ok(),
        };
        { number.filter(|number| (1..=self.versions.len()).contains(number)) }.ok_or_else(|| {
            let message = format!(
                "Could not find launch template version {version} of {}",
                self.id
            );
            Refusal::new("InvalidLaunchTemplateId.VersionNotFound", message)
        })
    }

    /// The version that a request with this token made before.
    fn repeated(&self, params: &Params) -> Result<Option<usize>, Refusal> {
        let Some(token) = params.text(&["ClientToken"]) else {
            return Ok(None);
        };
        match self.tokens.iter().find(|(known, ..)| known == token) {
            None => Ok(None),
            Some((_, asked, number)) if *asked == params.without(&["ClientToken"]) => {
                Ok(Some(*number))
            }
            Some(_) => Err(Refusal::new(
                "IdempotentParameterMismatch",
                "The client token was used for a request with other parameters",
            )),
        }
    }

    fn remember(&mut self, params: &Params, number: usize) {
        if let Some(token) = params.text(&["ClientToken"]) {
            let asked = params.without(&["ClientToken"]);
            self.tokens.push((token.to_owned(), asked, number));
        }
    }

    fn xml(&self) -> Xml {
        fields([
            ("launchTemplateId", text(&self.id)),
            ("launchTemplateName", text(&self.name)),
            ("createTime", text(&self.created)),
            ("createdBy", text(format!("arn:aws:iam::{OWNER}:root"))),
            ("defaultVersionNumber", text(self.default)),
            ("latestVersionNumber", text(self.versions.len())),
            ("tagSet", tags::xml(&self.tags)),
        ])
    }

    fn version_xml(&self, number: usize) -> Xml {
        let version = &self.versions[number - 1];
        fields([
            ("launchTemplateId", text(&self.id)),
            ("launchTemplateName", text(&self.name)),
            ("versionNumber", text(number)),
            ("createTime", text(&version.created)),
            ("createdBy", text(format!("arn:aws:iam::{OWNER}:root"))),
            ("defaultVersion", text(number == self.default)),
            ("launchTemplateData", Xml::echo(&version.data)),
        ])
        .with("versionDescription", version.description.as_ref().map(text))
    }
}

/// A version as a request wants it, over what its source version says.
fn version(params: &Params, below: Option<Params>) -> Result<Version, Refusal> {
    let data = params
        .get("LaunchTemplateData")
        .ok_or_else(|| Refusal::missing("LaunchTemplateData"))?;
    if let Some((unknown, _)) = data.members().find(|(name, _)| !DATA.contains(name)) {
        let message = format!("The parameter LaunchTemplateData.{unknown} is not recognized");
        return Err(Refusal::new("UnknownParameter", message));
    }
    Ok(Version {
        description: params.text(&["VersionDescription"]).map(str::to_owned),
        created: now(),
        data: data.over(&below.unwrap_or_default()),
    })
}
