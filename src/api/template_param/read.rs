//! Strict reading of requests about templates.

use crate::api::strict::{Node, Read};
use crate::api::{ApiError, TemplateCreateParams, TemplateUpdateParams};

impl Read for TemplateCreateParams {
    fn read(node: Node) -> Result<Self, ApiError> {
        let mut fields = node.fields()?;
        let params = TemplateCreateParams {
            capability_directories: fields.nullable("capability_directories")?,
            desktop: fields.nullable("desktop")?,
            env: fields.nullable("env")?,
            files: fields.nullable("files")?,
            name: fields.nullable("name")?,
            network: fields.nullable("network")?,
            packages: fields.nullable("packages")?,
            plugins: fields.nullable("plugins")?,
            setup_commands: fields.nullable("setup_commands")?,
            skills: fields.nullable("skills")?,
        };
        fields.end()?;
        Ok(params)
    }
}

impl Read for TemplateUpdateParams {
    fn read(node: Node) -> Result<Self, ApiError> {
        let mut fields = node.fields()?;
        let params = TemplateUpdateParams {
            capability_directories: fields.patch("capability_directories")?,
            desktop: fields.patch("desktop")?,
            env: fields.patch("env")?,
            files: fields.patch("files")?,
            name: fields.patch("name")?,
            network: fields.patch("network")?,
            packages: fields.patch("packages")?,
            plugins: fields.patch("plugins")?,
            setup_commands: fields.patch("setup_commands")?,
            skills: fields.patch("skills")?,
        };
        fields.end()?;
        Ok(params)
    }
}
