//! What a new Session's environment is made of: the request, a template if it names one, and the operator's settings.

use std::collections::BTreeMap;

use super::core::Core;
use super::error::EngineError;
use super::ids::{self, Kind};
use super::ports::{EnvironmentSpec, Network};
use super::start_files::Wanted;
use super::templates::Variables;
use crate::api::{EnvironmentParam, HostedEnvironmentParam, NetworkAccess, Secret};

/// What a Session's environment starts with.
pub(super) struct Start {
    pub(super) spec: EnvironmentSpec,
    /// Values of its variables, as one text to be sealed; `None`: it has none.
    pub(super) variables: Option<Secret>,
    /// Files to put there.
    pub(super) files: Vec<Wanted>,
}

impl Core {
    /// What a request's environment is; `None`: it has none.
    pub(super) async fn start_of(
        &self,
        owner: &str,
        param: &EnvironmentParam,
    ) -> Result<Option<Start>, EngineError> {
        match param {
            EnvironmentParam::None => Ok(None),
            EnvironmentParam::OpenaiHosted(hosted) => self.hosted(owner, hosted).await.map(Some),
            EnvironmentParam::SelfHosted { .. } => Err(EngineError::invalid(
                "environment.type",
                "self_hosted environments are not served here; use openai_hosted (managed) or none",
            )),
        }
    }

    async fn hosted(
        &self,
        owner: &str,
        hosted: &HostedEnvironmentParam,
    ) -> Result<Start, EngineError> {
        refuse_unsupported("environment.", hosted)?;
        let mut network = network_of("environment.", hosted)?;
        let mut variables = Variables::new();
        let mut files = Vec::new();
        if let Some(id) = &hosted.environment_template_id {
            let template = self.template_row(owner, id).await?;
            variables = self.template_variables(owner, &template).await?;
            files = self.template_files(owner, &template).await?;
            if let Some(most) = template.network {
                if network
                    .as_ref()
                    .is_some_and(|asked| !is_within(asked, &most))
                {
                    let message = "environment.network can't reach more than the template allows";
                    return Err(EngineError::invalid("environment.network", message));
                }
                network.get_or_insert(most);
            }
        }
        // What the request says goes before what the template says.
        variables.extend(
            hosted
                .env
                .iter()
                .flatten()
                .map(|(k, v)| (k.clone(), v.clone())),
        );
        for (at, file) in hosted.files.iter().flatten().enumerate() {
            let param = format!("environment.files[{at}].");
            let wanted = self.wanted_file(owner, &param, file).await?;
            files.retain(|earlier: &Wanted| earlier.path != wanted.path);
            files.push(wanted);
        }
        // Texts always serialise.
        let text = serde_json::to_string(&variables).unwrap_or_default();
        Ok(Start {
            spec: EnvironmentSpec {
                id: ids::random(Kind::Environment, &*self.ids),
                isolation: self.settings.isolation,
                network: network.unwrap_or_else(|| self.settings.network.clone()),
                env: BTreeMap::new(),
            },
            variables: (!variables.is_empty()).then(|| Secret::new(text)),
            files,
        })
    }
}

/// The network that a request asks for; `None`: it does not say. `prefix` is where the environment stands in it, with a dot.
pub(super) fn network_of(
    prefix: &str,
    hosted: &HostedEnvironmentParam,
) -> Result<Option<Network>, EngineError> {
    let Some(network) = &hosted.network else {
        return Ok(None);
    };
    if network
        .blocked_domains
        .as_ref()
        .is_some_and(|list| !list.is_empty())
    {
        let param = format!("{prefix}network.blocked_domains");
        let message = format!("{param} is not served here; name what is allowed instead");
        return Err(EngineError::invalid(&param, message));
    }
    Ok(Some(match network.access {
        NetworkAccess::Disabled => Network::Disabled,
        NetworkAccess::Enabled => Network::Enabled,
        NetworkAccess::Restricted => Network::Restricted {
            allowed_domains: network.allowed_domains.clone().unwrap_or_default(),
        },
    }))
}

/// Whether `asked` reaches nothing that `most` does not.
fn is_within(asked: &Network, most: &Network) -> bool {
    match (asked, most) {
        (Network::Disabled, _) | (_, Network::Enabled) => true,
        (
            Network::Restricted { allowed_domains },
            Network::Restricted {
                allowed_domains: most,
            },
        ) => {
            // Word for word: a pattern within another pattern is not looked for.
            let known = |domain: &String| most.iter().any(|m| m.eq_ignore_ascii_case(domain));
            allowed_domains.iter().all(known)
        }
        (Network::Enabled | Network::Restricted { .. }, _) => false,
    }
}

/// What this deployment can't do is refused by name, not ignored. `prefix` as for [`network_of`].
pub(super) fn refuse_unsupported(
    prefix: &str,
    hosted: &HostedEnvironmentParam,
) -> Result<(), EngineError> {
    fn given<T>(list: &Option<Vec<T>>) -> bool {
        list.as_ref().is_some_and(|list| !list.is_empty())
    }
    let packages = hosted.packages.as_ref();
    let unsupported = [
        (
            "packages",
            packages.is_some_and(|p| given(&p.npm) || given(&p.python) || given(&p.system)),
        ),
        ("setup_commands", given(&hosted.setup_commands)),
        ("skills", given(&hosted.skills)),
        ("plugins", given(&hosted.plugins)),
        (
            "capability_directories",
            given(&hosted.capability_directories),
        ),
        ("environment_id", hosted.environment_id.is_some()),
        (
            "desktop",
            hosted.desktop.is_some_and(|desktop| desktop.enabled),
        ),
    ];
    match unsupported.into_iter().find(|(_, given)| *given) {
        Some((name, _)) => {
            let param = format!("{prefix}{name}");
            let message = format!("{param} is not served here; leave it out");
            Err(EngineError::invalid(&param, message))
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_is_within_one_that_reaches_as_much() {
        let restricted = |domains: &[&str]| Network::Restricted {
            allowed_domains: domains.iter().map(|d| (*d).to_owned()).collect(),
        };
        let (none, all) = (Network::Disabled, Network::Enabled);
        let (a, ab) = (restricted(&["a.org"]), restricted(&["A.org", "b.org"]));
        for (asked, most, within) in [
            (&none, &none, true),
            (&none, &a, true),
            (&a, &none, false),
            (&a, &ab, true),
            (&ab, &a, false),
            (&a, &all, true),
            (&all, &ab, false),
            (&all, &all, true),
        ] {
            assert_eq!(is_within(asked, most), within, "{asked:?} {most:?}");
        }
    }
}
