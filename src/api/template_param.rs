//! Requests that create and change templates of environments, and the one that puts a file into a live environment.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::api::{
    Desktop, HostedFileParam, HostedPluginParam, HostedSkillParam, NetworkParam, PackagesParam,
    Patch, Secret, SetupCommandParam,
};

mod read;

/// Body of `POST /agents/environments/templates`. A null field means the same as an absent one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TemplateCreateParams {
    /// Directories with skills and plugins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capability_directories: Option<Vec<String>>,
    /// Whether it has a desktop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub desktop: Option<Desktop>,
    /// Variables for commands; write-only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub env: Option<BTreeMap<String, Secret>>,
    /// Files to put there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<Vec<HostedFileParam>>,
    /// For people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What commands may reach at most.
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

/// Body of `POST /agents/environments/templates/{template_id}`. An absent field keeps what there is; null brings back nothing. What is
/// given replaces the field whole.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TemplateUpdateParams {
    /// Directories with skills and plugins.
    #[serde(default, skip_serializing_if = "Patch::is_keep")]
    pub capability_directories: Patch<Vec<String>>,
    /// Whether it has a desktop.
    #[serde(default, skip_serializing_if = "Patch::is_keep")]
    pub desktop: Patch<Desktop>,
    /// Variables for commands; write-only.
    #[serde(default, skip_serializing_if = "Patch::is_keep")]
    pub env: Patch<BTreeMap<String, Secret>>,
    /// Files to put there.
    #[serde(default, skip_serializing_if = "Patch::is_keep")]
    pub files: Patch<Vec<HostedFileParam>>,
    /// For people.
    #[serde(default, skip_serializing_if = "Patch::is_keep")]
    pub name: Patch<String>,
    /// What commands may reach at most.
    #[serde(default, skip_serializing_if = "Patch::is_keep")]
    pub network: Patch<NetworkParam>,
    /// What to install.
    #[serde(default, skip_serializing_if = "Patch::is_keep")]
    pub packages: Patch<PackagesParam>,
    /// What to plug in.
    #[serde(default, skip_serializing_if = "Patch::is_keep")]
    pub plugins: Patch<Vec<HostedPluginParam>>,
    /// What to run first, in order; write-only.
    #[serde(default, skip_serializing_if = "Patch::is_keep")]
    pub setup_commands: Patch<Vec<SetupCommandParam>>,
    /// What the agent can look up.
    #[serde(default, skip_serializing_if = "Patch::is_keep")]
    pub skills: Patch<Vec<HostedSkillParam>>,
}
