//! Environments as answers show them: the configuration in a Session ([`Environment`]), the resource
//! ([`EnvironmentInfo`]) and the state in events ([`EnvironmentState`]). Requests are in `environment_param`.
//!
//! No type here has a field for a variable's value, a setup command or a file's content.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::api::page::HasId;
use crate::api::words::{object_name, tagged, words};

object_name!(
    EnvironmentObject = "agent.environment",
    EnvironmentFileObject = "agent.environment.file",
);

/// A Session's environment: how it is configured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Environment {
    /// No place to run commands.
    None,
    /// A managed environment; the wire's name for it is historical.
    #[serde(rename = "openai_hosted")]
    OpenaiHosted(HostedEnvironment),
    /// A machine of the client.
    SelfHosted(SelfHostedEnvironment),
}

/// A managed environment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HostedEnvironment {
    /// `env_…`
    pub id: String,
    /// Directories with skills and plugins.
    pub capability_directories: Vec<String>,
    /// Files put there at the start, without their content.
    pub files: Vec<HostedFile>,
    /// What commands may reach.
    pub network: Network,
    /// What is installed.
    pub packages: Packages,
    /// What is plugged in.
    pub plugins: Vec<HostedPlugin>,
    /// What the agent can look up.
    pub skills: Vec<HostedSkill>,
    /// How large the machine is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub container_size: Option<ContainerSize>,
    /// Whether it has a desktop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub desktop: Option<Desktop>,
}

/// A machine of the client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SelfHostedEnvironment {
    /// `env_…`
    pub id: String,
    /// Directories with skills and plugins.
    pub capability_directories: Vec<String>,
    /// Where the executor connects to.
    pub remote_url: String,
    /// Absolute.
    pub workspace_directory: String,
}

/// What commands may reach.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Network {
    /// How much.
    pub access: NetworkAccess,
    /// With restricted access: these hosts only.
    pub allowed_domains: Vec<String>,
}

/// Packages to install, by package manager.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Packages {
    /// From npm.
    pub npm: Vec<String>,
    /// From PyPI.
    pub python: Vec<String>,
    /// From the system's package manager.
    pub system: Vec<String>,
}

/// Whether an environment has a desktop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Desktop {
    /// Whether it has.
    pub enabled: bool,
}

/// A file put into an environment, without its content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum HostedFile {
    /// Copied from an uploaded file.
    FileId {
        /// Its id in the environment.
        id: String,
        /// The uploaded file.
        file_id: String,
        /// Where it is.
        path: String,
        /// Exact length.
        size_bytes: u64,
    },
    /// Given in the request.
    Inline {
        /// Its id in the environment.
        id: String,
        /// Where it is.
        path: String,
        /// Exact length.
        size_bytes: u64,
    },
}

/// A skill in an environment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum HostedSkill {
    /// An uploaded skill.
    SkillReference {
        /// For the model.
        description: String,
        /// Its name.
        name: String,
        /// The uploaded skill.
        skill_id: String,
        /// Which version.
        version: String,
    },
    /// Given in the request.
    Inline {
        /// For the model.
        description: String,
        /// Its name.
        name: String,
    },
}

/// A plugin in an environment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename = "inline")]
#[schemars(rename = "HostedPlugin", transform = tagged("inline"))]
pub struct HostedPlugin {
    /// For the model.
    pub description: String,
    /// Its name.
    pub name: String,
}

/// The environment as a resource: its state and what is in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EnvironmentInfo {
    /// `env_…`
    pub id: String,
    /// What was put there.
    pub files: Vec<HostedFile>,
    /// Always `agent.environment`.
    pub object: EnvironmentObject,
    /// What is plugged in.
    pub plugins: Vec<HostedPlugin>,
    /// What the agent can look up.
    pub skills: Vec<HostedSkill>,
    /// Where it stands.
    pub status: EnvironmentStatus,
    /// Who runs it.
    #[serde(rename = "type")]
    pub kind: EnvironmentKind,
}

/// The environment in an event: its state and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EnvironmentState {
    /// `env_…`
    pub id: String,
    /// Why it failed.
    pub error: Option<EnvironmentError>,
    /// Where it stands.
    pub status: EnvironmentStatus,
    /// Who runs it, as text.
    #[serde(rename = "type")]
    pub kind: String,
}

/// Why an environment failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EnvironmentError {
    /// For programs.
    pub code: String,
    /// For people.
    pub message: String,
    /// Its family.
    #[serde(rename = "type")]
    pub kind: String,
}

/// A file put into a live environment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EnvironmentFile {
    /// `env_…`
    pub environment_id: String,
    /// Always `agent.environment.file`.
    pub object: EnvironmentFileObject,
    /// Where it is.
    pub path: String,
    /// Exact length.
    pub size_bytes: u64,
}

words! {
    /// How much of the network commands may reach.
    pub enum NetworkAccess {
        /// Everything public.
        Enabled = "enabled",
        /// Nothing.
        Disabled = "disabled",
        /// Named hosts.
        Restricted = "restricted",
    }

    /// How large a managed machine is.
    pub enum ContainerSize {
        /// Small.
        Small = "small",
        /// The middle.
        Medium = "medium",
        /// Large.
        Large = "large",
    }

    /// Where an environment stands.
    pub enum EnvironmentStatus {
        /// Being made.
        Pending = "pending",
        /// Made; nobody uses it yet.
        Ready = "ready",
        /// In use.
        Connected = "connected",
        /// Not reachable now.
        Disconnected = "disconnected",
        /// Stopped; it can go on.
        Suspended = "suspended",
        /// Gone.
        Expired = "expired",
        /// It could not be made.
        Failed = "failed",
    }

    /// Who runs an environment.
    pub enum EnvironmentKind {
        /// Managed.
        OpenaiHosted = "openai_hosted",
        /// The client.
        SelfHosted = "self_hosted",
    }
}

impl HasId for EnvironmentInfo {
    fn id(&self) -> Option<&str> {
        Some(&self.id)
    }
}
