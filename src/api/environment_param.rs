//! Environments as requests describe them. Variables, setup commands and file contents exist only here.
//!
//! The contract has two request forms with `type: openai_hosted`: a description, and the attachment of an existing one by
//! `environment_id`. Both are one struct here, and `limits` refuses their mixture.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::api::words::{object_name, tagged};
use crate::api::{ContainerSize, Desktop, NetworkAccess, Secret};

mod read;

/// Where a new Session's commands shall run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum EnvironmentParam {
    /// Nowhere.
    None,
    /// In a managed environment.
    #[serde(rename = "openai_hosted")]
    OpenaiHosted(Box<HostedEnvironmentParam>),
    /// On a machine of the client.
    SelfHosted {
        /// Absolute.
        workspace_directory: String,
        /// Directories with skills and plugins.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        capability_directories: Option<Vec<String>>,
    },
}

/// A managed environment, described or attached.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HostedEnvironmentParam {
    /// Directories with skills and plugins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capability_directories: Option<Vec<String>>,
    /// How large the machine is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub container_size: Option<ContainerSize>,
    /// Whether it has a desktop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub desktop: Option<Desktop>,
    /// Variables for commands; write-only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub env: Option<BTreeMap<String, Secret>>,
    /// Attach this environment; excludes every other field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub environment_id: Option<String>,
    /// Start from this template.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub environment_template_id: Option<String>,
    /// Files to put there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<Vec<HostedFileParam>>,
    /// What commands may reach.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<NetworkParam>,
    /// What to install.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub packages: Option<PackagesParam>,
    /// What to plug in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plugins: Option<Vec<HostedPluginParam>>,
    /// What to run first, in order; write-only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub setup_commands: Option<Vec<SetupCommandParam>>,
    /// What the agent can look up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skills: Option<Vec<HostedSkillParam>>,
}

/// What commands may reach.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NetworkParam {
    /// How much.
    pub access: NetworkAccess,
    /// With restricted access: these hosts only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed_domains: Option<Vec<String>>,
    /// With restricted access: every host but these.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocked_domains: Option<Vec<String>>,
}

/// Packages to install, by package manager.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PackagesParam {
    /// From npm.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub npm: Option<Vec<String>>,
    /// From PyPI.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub python: Option<Vec<String>>,
    /// From the system's package manager.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system: Option<Vec<String>>,
}

/// A file to put into an environment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum HostedFileParam {
    /// Copied from an uploaded file.
    FileId {
        /// The uploaded file.
        file_id: String,
        /// Where to: absolute, below `/workspace`.
        path: String,
    },
    /// Given here.
    Inline {
        /// Standard base64; write-only.
        data: Secret,
        /// Where to: absolute, below `/workspace`.
        path: String,
    },
}

/// A skill to put into an environment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum HostedSkillParam {
    /// An uploaded skill.
    SkillReference {
        /// The uploaded skill.
        skill_id: String,
        /// Which version; the default one if not given.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        version: Option<String>,
    },
    /// Given here.
    Inline {
        /// For the model.
        description: String,
        /// Its name.
        name: String,
        /// A zip archive.
        source: InlineSourceParam,
    },
}

/// A plugin to put into an environment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename = "inline")]
#[schemars(rename = "HostedPluginParam", transform = tagged("inline"))]
pub struct HostedPluginParam {
    /// For the model.
    pub description: String,
    /// Its name.
    pub name: String,
    /// A zip archive.
    pub source: InlineSourceParam,
}

/// A zip archive in a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename = "base64")]
#[schemars(rename = "InlineSourceParam", transform = tagged("base64"))]
pub struct InlineSourceParam {
    /// Standard base64; write-only.
    pub data: Secret,
    /// Always `application/zip`.
    pub media_type: ZipMediaType,
}

object_name!(ZipMediaType = "application/zip");

/// A command to run before the environment is used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SetupCommandParam {
    /// Shell text; write-only.
    pub command: Secret,
    /// Where; the workspace if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
}
