//! Templates of environments as answers show them: no variable's value and no file's content. Requests are in `template_param`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::api::page::HasId;
use crate::api::words::object_name;
use crate::api::{Desktop, HostedPlugin, Network, Packages};

object_name!(
    TemplateObject = "agent.environment.template",
    TemplateDeletedObject = "agent.environment.template.deleted",
);

/// What new environments may be made from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EnvironmentTemplate {
    /// `tmpl_…`
    pub id: String,
    /// Directories with skills and plugins.
    pub capability_directories: Vec<String>,
    /// Unix seconds.
    pub created_at: u64,
    /// Files that are put there, without their content.
    pub files: Vec<TemplateFile>,
    /// For people.
    pub name: Option<String>,
    /// What commands may reach at most.
    pub network: Network,
    /// Always `agent.environment.template`.
    pub object: TemplateObject,
    /// What is installed.
    pub packages: Packages,
    /// What is plugged in.
    pub plugins: Vec<HostedPlugin>,
    /// What the agent can look up.
    pub skills: Vec<TemplateSkill>,
    /// Unix seconds.
    pub updated_at: u64,
    /// Whether it has a desktop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub desktop: Option<Desktop>,
}

/// A file of a template, without its content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum TemplateFile {
    /// Copied from an uploaded file when an environment is made.
    FileId {
        /// The uploaded file.
        file_id: String,
        /// Where it is put.
        path: String,
    },
    /// Kept with the template.
    Inline {
        /// Where it is put.
        path: String,
        /// Exact length.
        size_bytes: u64,
    },
}

/// A skill of a template.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum TemplateSkill {
    /// An uploaded skill.
    SkillReference {
        /// The uploaded skill.
        skill_id: String,
        /// Which version; null: the default one.
        version: Option<String>,
    },
    /// Kept with the template.
    Inline {
        /// For the model.
        description: String,
        /// Its name.
        name: String,
    },
}

/// The answer to deleting a template.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EnvironmentTemplateDeleted {
    /// What was deleted.
    pub id: String,
    /// Always true.
    pub deleted: bool,
    /// Always `agent.environment.template.deleted`.
    pub object: TemplateDeletedObject,
}

impl EnvironmentTemplateDeleted {
    /// The answer for this template.
    pub fn of(id: impl Into<String>) -> EnvironmentTemplateDeleted {
        EnvironmentTemplateDeleted {
            id: id.into(),
            deleted: true,
            object: TemplateDeletedObject::Only,
        }
    }
}

impl HasId for EnvironmentTemplate {
    fn id(&self) -> Option<&str> {
        Some(&self.id)
    }
}
