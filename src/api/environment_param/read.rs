//! Strict reading of environments.

use crate::api::strict::{Node, Read};
use crate::api::words::words;
use crate::api::{
    ApiError, Desktop, EnvironmentParam, HostedEnvironmentParam, HostedFileParam,
    HostedPluginParam, HostedSkillParam, InlineSourceParam, NetworkParam, PackagesParam,
    SetupCommandParam, ZipMediaType,
};

words! {
    /// The `type` of an environment.
    enum EnvironmentParamKind {
        None = "none",
        OpenaiHosted = "openai_hosted",
        SelfHosted = "self_hosted",
    }

    /// The `type` of a file.
    enum FileKind {
        FileId = "file_id",
        Inline = "inline",
    }

    /// The `type` of a skill.
    enum SkillKind {
        SkillReference = "skill_reference",
        Inline = "inline",
    }

    /// The `type` of a plugin.
    enum PluginKind {
        Inline = "inline",
    }

    /// The `type` of a source.
    enum SourceKind {
        Base64 = "base64",
    }

    /// The `media_type` of a source.
    enum SourceMediaType {
        Zip = "application/zip",
    }
}

impl Read for EnvironmentParam {
    fn read(node: Node) -> Result<Self, ApiError> {
        let mut fields = node.fields()?;
        let environment = match fields.tag("type")? {
            EnvironmentParamKind::None => EnvironmentParam::None,
            EnvironmentParamKind::OpenaiHosted => {
                EnvironmentParam::OpenaiHosted(Box::new(HostedEnvironmentParam {
                    capability_directories: fields.nullable("capability_directories")?,
                    container_size: fields.optional("container_size")?,
                    desktop: fields.nullable("desktop")?,
                    env: fields.nullable("env")?,
                    environment_id: fields.optional("environment_id")?,
                    environment_template_id: fields.optional("environment_template_id")?,
                    files: fields.nullable("files")?,
                    network: fields.nullable("network")?,
                    packages: fields.nullable("packages")?,
                    plugins: fields.nullable("plugins")?,
                    setup_commands: fields.nullable("setup_commands")?,
                    skills: fields.nullable("skills")?,
                }))
            }
            EnvironmentParamKind::SelfHosted => EnvironmentParam::SelfHosted {
                workspace_directory: fields.required("workspace_directory")?,
                capability_directories: fields.nullable("capability_directories")?,
            },
        };
        fields.end()?;
        Ok(environment)
    }
}

impl Read for Desktop {
    fn read(node: Node) -> Result<Self, ApiError> {
        let mut fields = node.fields()?;
        let desktop = Desktop {
            enabled: fields.required("enabled")?,
        };
        fields.end()?;
        Ok(desktop)
    }
}

impl Read for NetworkParam {
    fn read(node: Node) -> Result<Self, ApiError> {
        let mut fields = node.fields()?;
        let network = NetworkParam {
            access: fields.required("access")?,
            allowed_domains: fields.nullable("allowed_domains")?,
            blocked_domains: fields.nullable("blocked_domains")?,
        };
        fields.end()?;
        Ok(network)
    }
}

impl Read for PackagesParam {
    fn read(node: Node) -> Result<Self, ApiError> {
        let mut fields = node.fields()?;
        let packages = PackagesParam {
            npm: fields.nullable("npm")?,
            python: fields.nullable("python")?,
            system: fields.nullable("system")?,
        };
        fields.end()?;
        Ok(packages)
    }
}

impl Read for HostedFileParam {
    fn read(node: Node) -> Result<Self, ApiError> {
        let mut fields = node.fields()?;
        let file = match fields.tag("type")? {
            FileKind::FileId => HostedFileParam::FileId {
                file_id: fields.required("file_id")?,
                path: fields.required("path")?,
            },
            FileKind::Inline => HostedFileParam::Inline {
                data: fields.required("data")?,
                path: fields.required("path")?,
            },
        };
        fields.end()?;
        Ok(file)
    }
}

impl Read for HostedSkillParam {
    fn read(node: Node) -> Result<Self, ApiError> {
        let mut fields = node.fields()?;
        let skill = match fields.tag("type")? {
            SkillKind::SkillReference => HostedSkillParam::SkillReference {
                skill_id: fields.required("skill_id")?,
                version: fields.nullable("version")?,
            },
            SkillKind::Inline => HostedSkillParam::Inline {
                description: fields.required("description")?,
                name: fields.required("name")?,
                source: fields.required("source")?,
            },
        };
        fields.end()?;
        Ok(skill)
    }
}

impl Read for HostedPluginParam {
    fn read(node: Node) -> Result<Self, ApiError> {
        let mut fields = node.fields()?;
        let PluginKind::Inline = fields.tag("type")?;
        let plugin = HostedPluginParam {
            description: fields.required("description")?,
            name: fields.required("name")?,
            source: fields.required("source")?,
        };
        fields.end()?;
        Ok(plugin)
    }
}

impl Read for InlineSourceParam {
    fn read(node: Node) -> Result<Self, ApiError> {
        let mut fields = node.fields()?;
        let SourceKind::Base64 = fields.tag("type")?;
        let SourceMediaType::Zip = fields.tag("media_type")?;
        let source = InlineSourceParam {
            data: fields.required("data")?,
            media_type: ZipMediaType::Only,
        };
        fields.end()?;
        Ok(source)
    }
}

impl Read for SetupCommandParam {
    fn read(node: Node) -> Result<Self, ApiError> {
        let mut fields = node.fields()?;
        let command = SetupCommandParam {
            command: fields.required("command")?,
            cwd: fields.nullable("cwd")?,
        };
        fields.end()?;
        Ok(command)
    }
}
