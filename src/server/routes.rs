//! The table of routes: everything that the API has, and whether it is served. The router and `docs/api-coverage.md` follow it.

use self::Verb::{Delete, Get, Post};
use crate::engine::scope::Scope;

/// One route.
#[derive(Debug)]
pub struct Route {
    /// Method.
    pub verb: Verb,
    /// Path; `{…}` stands for an id.
    pub path: &'static str,
    /// What it calls.
    pub call: Call,
    /// How much of it is there.
    pub coverage: Coverage,
}

/// A method of HTTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// Reads.
    Get,
    /// Creates, changes or submits.
    Post,
    /// Deletes.
    Delete,
}

impl Verb {
    /// As it stands in a request.
    pub fn name(self) -> &'static str {
        match self {
            Verb::Get => "GET",
            Verb::Post => "POST",
            Verb::Delete => "DELETE",
        }
    }
}

/// How much of a route is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coverage {
    /// All of it.
    Served,
    /// Not all of it; this is what is missing.
    Partial(&'static str),
    /// Nothing: it answers 501.
    Not,
}

/// What a route calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "each is named by its route in the table below")]
pub enum Call {
    Health,
    Ready,
    OpenApi,
    Metrics,
    CreateAgent,
    ListAgents,
    GetAgent,
    UpdateAgent,
    DeleteAgent,
    CreateSession,
    ListSessions,
    GetSession,
    UpdateSession,
    DeleteSession,
    SendEvents,
    StreamEvents,
    ListItems,
    ListTurns,
    GetTurn,
    ListTurnItems,
    ListTraces,
    ListSubagents,
    GetSubagent,
    ListSubagentItems,
    ListSubagentTurns,
    GetSubagentTurn,
    ListSubagentTurnItems,
    CreateFile,
    ListFiles,
    GetFile,
    DeleteFile,
    GetFileContent,
    CreateVault,
    ListVaults,
    GetVault,
    UpdateVault,
    DeleteVault,
    CreateCredential,
    ListCredentials,
    GetCredential,
    UpdateCredential,
    DeleteCredential,
    GetEnvironment,
    PutEnvironmentFile,
    ListEnvironmentFiles,
    CreateTemplate,
    ListTemplates,
    GetTemplate,
    UpdateTemplate,
    DeleteTemplate,
    NotBuilt,
    ListArtifacts,
    GetArtifact,
    GetArtifactContent,
    DeleteArtifact,
}

impl Route {
    /// Whether the API wants its beta header here.
    pub fn wants_beta(&self) -> bool {
        ["/v1/agents", "/v1/vaults"]
            .iter()
            .any(|part| self.path.starts_with(part))
    }

    /// Whether a caller must be known.
    pub fn needs_key(&self) -> bool {
        !KEYLESS.contains(&self.path)
    }

    /// What a key must be allowed, all of it. A route that no part declares needs everything.
    pub fn needs(&self) -> &'static [Scope] {
        let Some(part) = self.part() else {
            return &Scope::ALL;
        };
        match self.verb {
            Get => part.looks,
            Post if WORKS.contains(&self.path) => part.works,
            Post | Delete => part.changes,
        }
    }

    fn part(&self) -> Option<&'static Part> {
        PARTS.iter().find(|part| {
            let rest = self.path.strip_prefix(part.path);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
    }
}

/// A part of the API, and what it asks of a key.
#[derive(Debug)]
pub struct Part {
    /// Its routes begin with this.
    pub path: &'static str,
    /// To look.
    pub looks: &'static [Scope],
    /// To change something.
    pub changes: &'static [Scope],
    /// To start or continue work, in which a model is called.
    pub works: &'static [Scope],
}

const fn part(path: &'static str, looks: &'static [Scope], changes: &'static [Scope]) -> Part {
    Part {
        path,
        looks,
        changes,
        works: &[Scope::AgentsWrite, Scope::ResponsesWrite],
    }
}

/// Every part. The documentation has the same table.
pub static PARTS: &[Part] = &[
    part("/v1/agents", &[Scope::AgentsRead], &[Scope::AgentsWrite]),
    part("/v1/vaults", &[Scope::VaultsRead], &[Scope::VaultsWrite]),
    part("/v1/files", &[Scope::FilesRead], &[Scope::FilesWrite]),
    part("/v1/skills", &[Scope::FilesRead], &[Scope::FilesWrite]),
    part(
        "/v1/webhook_endpoints",
        &[Scope::AgentsRead],
        &[Scope::AgentsWrite],
    ),
    part(
        "/v1/webhook_event_types",
        &[Scope::AgentsRead],
        &[Scope::AgentsWrite],
    ),
    part("/metrics", &[Scope::AgentsRead], &[Scope::AgentsWrite]),
];

/// Routes that start or continue work, or arrange that it will be.
static WORKS: &[&str] = &[
    "/v1/agents/sessions",
    "/v1/agents/sessions/{session_id}/events",
    "/v1/agents/automations",
    "/v1/agents/automations/{automation_id}",
    "/v1/agents/automations/{automation_id}/resume",
    "/v1/agents/automations/{automation_id}/invocations",
];

/// Routes for everybody: they say nothing of anybody.
static KEYLESS: &[&str] = &["/healthz", "/readyz", "/openapi.json"];

const fn served(verb: Verb, path: &'static str, call: Call) -> Route {
    Route {
        verb,
        path,
        call,
        coverage: Coverage::Served,
    }
}

const fn partial(verb: Verb, path: &'static str, call: Call, missing: &'static str) -> Route {
    Route {
        verb,
        path,
        call,
        coverage: Coverage::Partial(missing),
    }
}

const fn not(verb: Verb, path: &'static str) -> Route {
    Route {
        verb,
        path,
        call: Call::NotBuilt,
        coverage: Coverage::Not,
    }
}

const NOT_INSTALLED: &str = "packages, setup commands, skills, plugins, capability directories and desktops are refused by name";
const NOT_USED: &str = "credentials other than `static_bearer` are kept and not used yet";

/// Every route, in the order of the API's documentation.
pub static ROUTES: &[Route] = &[
    served(Get, "/healthz", Call::Health),
    served(Get, "/readyz", Call::Ready),
    served(Get, "/openapi.json", Call::OpenApi),
    served(Get, "/metrics", Call::Metrics),
    served(Post, "/v1/agents", Call::CreateAgent),
    served(Get, "/v1/agents", Call::ListAgents),
    served(Get, "/v1/agents/{agent_id}", Call::GetAgent),
    served(Post, "/v1/agents/{agent_id}", Call::UpdateAgent),
    served(Delete, "/v1/agents/{agent_id}", Call::DeleteAgent),
    partial(
        Post,
        "/v1/agents/sessions",
        Call::CreateSession,
        "tools other than functions (with the harness `codex`: and MCP servers and web search), self-hosted environments, skills, plugins, packages and setup commands are refused by name",
    ),
    served(Get, "/v1/agents/sessions", Call::ListSessions),
    served(Get, "/v1/agents/sessions/{session_id}", Call::GetSession),
    partial(
        Post,
        "/v1/agents/sessions/{session_id}",
        Call::UpdateSession,
        "what the engine does not do yet is refused by name",
    ),
    served(
        Delete,
        "/v1/agents/sessions/{session_id}",
        Call::DeleteSession,
    ),
    partial(
        Post,
        "/v1/agents/sessions/{session_id}/events",
        Call::SendEvents,
        "answers to approvals are refused: nothing asks for one",
    ),
    served(
        Get,
        "/v1/agents/sessions/{session_id}/events",
        Call::StreamEvents,
    ),
    served(
        Get,
        "/v1/agents/sessions/{session_id}/items",
        Call::ListItems,
    ),
    served(
        Get,
        "/v1/agents/sessions/{session_id}/turns",
        Call::ListTurns,
    ),
    served(
        Get,
        "/v1/agents/sessions/{session_id}/turns/{turn_id}",
        Call::GetTurn,
    ),
    served(
        Get,
        "/v1/agents/sessions/{session_id}/turns/{turn_id}/items",
        Call::ListTurnItems,
    ),
    partial(
        Get,
        "/v1/agents/sessions/{session_id}/traces",
        Call::ListTraces,
        "there are none yet: the list is always empty",
    ),
    served(
        Get,
        "/v1/agents/sessions/{session_id}/subagents",
        Call::ListSubagents,
    ),
    served(
        Get,
        "/v1/agents/sessions/{session_id}/subagents/{subagent_id}",
        Call::GetSubagent,
    ),
    served(
        Get,
        "/v1/agents/sessions/{session_id}/subagents/{subagent_id}/items",
        Call::ListSubagentItems,
    ),
    served(
        Get,
        "/v1/agents/sessions/{session_id}/subagents/{subagent_id}/turns",
        Call::ListSubagentTurns,
    ),
    served(
        Get,
        "/v1/agents/sessions/{session_id}/subagents/{subagent_id}/turns/{turn_id}",
        Call::GetSubagentTurn,
    ),
    served(
        Get,
        "/v1/agents/sessions/{session_id}/subagents/{subagent_id}/turns/{turn_id}/items",
        Call::ListSubagentTurnItems,
    ),
    served(
        Get,
        "/v1/agents/sessions/{session_id}/artifacts",
        Call::ListArtifacts,
    ),
    served(
        Get,
        "/v1/agents/sessions/{session_id}/artifacts/{artifact_id}",
        Call::GetArtifact,
    ),
    served(
        Delete,
        "/v1/agents/sessions/{session_id}/artifacts/{artifact_id}",
        Call::DeleteArtifact,
    ),
    served(
        Get,
        "/v1/agents/sessions/{session_id}/artifacts/{artifact_id}/content",
        Call::GetArtifactContent,
    ),
    not(Post, "/v1/agents/environments"),
    not(Get, "/v1/agents/environments"),
    served(
        Get,
        "/v1/agents/environments/{environment_id}",
        Call::GetEnvironment,
    ),
    served(
        Post,
        "/v1/agents/environments/{environment_id}/files",
        Call::PutEnvironmentFile,
    ),
    served(
        Get,
        "/v1/agents/environments/{environment_id}/files",
        Call::ListEnvironmentFiles,
    ),
    partial(
        Post,
        "/v1/agents/environments/templates",
        Call::CreateTemplate,
        NOT_INSTALLED,
    ),
    served(
        Get,
        "/v1/agents/environments/templates",
        Call::ListTemplates,
    ),
    served(
        Get,
        "/v1/agents/environments/templates/{template_id}",
        Call::GetTemplate,
    ),
    partial(
        Post,
        "/v1/agents/environments/templates/{template_id}",
        Call::UpdateTemplate,
        NOT_INSTALLED,
    ),
    served(
        Delete,
        "/v1/agents/environments/templates/{template_id}",
        Call::DeleteTemplate,
    ),
    served(Post, "/v1/vaults", Call::CreateVault),
    served(Get, "/v1/vaults", Call::ListVaults),
    served(Get, "/v1/vaults/{vault_id}", Call::GetVault),
    served(Post, "/v1/vaults/{vault_id}", Call::UpdateVault),
    served(Delete, "/v1/vaults/{vault_id}", Call::DeleteVault),
    partial(
        Post,
        "/v1/vaults/{vault_id}/credentials",
        Call::CreateCredential,
        NOT_USED,
    ),
    served(
        Get,
        "/v1/vaults/{vault_id}/credentials",
        Call::ListCredentials,
    ),
    served(
        Get,
        "/v1/vaults/{vault_id}/credentials/{credential_id}",
        Call::GetCredential,
    ),
    partial(
        Post,
        "/v1/vaults/{vault_id}/credentials/{credential_id}",
        Call::UpdateCredential,
        NOT_USED,
    ),
    served(
        Delete,
        "/v1/vaults/{vault_id}/credentials/{credential_id}",
        Call::DeleteCredential,
    ),
    not(Post, "/v1/agents/automations"),
    not(Get, "/v1/agents/automations"),
    not(Get, "/v1/agents/automations/{automation_id}"),
    not(Post, "/v1/agents/automations/{automation_id}"),
    not(Delete, "/v1/agents/automations/{automation_id}"),
    not(Post, "/v1/agents/automations/{automation_id}/pause"),
    not(Post, "/v1/agents/automations/{automation_id}/resume"),
    not(Post, "/v1/agents/automations/{automation_id}/invocations"),
    not(Get, "/v1/agents/automations/{automation_id}/invocations"),
    not(
        Get,
        "/v1/agents/automations/{automation_id}/invocations/{invocation_id}",
    ),
    served(Post, "/v1/files", Call::CreateFile),
    served(Get, "/v1/files", Call::ListFiles),
    served(Get, "/v1/files/{file_id}", Call::GetFile),
    served(Delete, "/v1/files/{file_id}", Call::DeleteFile),
    served(Get, "/v1/files/{file_id}/content", Call::GetFileContent),
    not(Post, "/v1/skills"),
    not(Get, "/v1/skills"),
    not(Get, "/v1/skills/{skill_id}"),
    not(Post, "/v1/skills/{skill_id}"),
    not(Delete, "/v1/skills/{skill_id}"),
    not(Get, "/v1/skills/{skill_id}/content"),
    not(Post, "/v1/skills/{skill_id}/versions"),
    not(Get, "/v1/skills/{skill_id}/versions"),
    not(Get, "/v1/skills/{skill_id}/versions/{version}"),
    not(Delete, "/v1/skills/{skill_id}/versions/{version}"),
    not(Get, "/v1/skills/{skill_id}/versions/{version}/content"),
    not(Post, "/v1/webhook_endpoints"),
    not(Get, "/v1/webhook_endpoints"),
    not(Get, "/v1/webhook_endpoints/{webhook_endpoint_id}"),
    not(Post, "/v1/webhook_endpoints/{webhook_endpoint_id}"),
    not(Delete, "/v1/webhook_endpoints/{webhook_endpoint_id}"),
    not(
        Post,
        "/v1/webhook_endpoints/{webhook_endpoint_id}/rotate_secret",
    ),
    not(Post, "/v1/webhook_endpoints/{webhook_endpoint_id}/test"),
    not(Get, "/v1/webhook_event_types"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_route_that_needs_a_key_belongs_to_a_part() {
        for route in ROUTES.iter().filter(|route| route.needs_key()) {
            let parts = PARTS.iter().filter(|part| {
                route.path == part.path || route.path.starts_with(&format!("{}/", part.path))
            });
            assert_eq!(parts.count(), 1, "{}", route.path);
            assert!(!route.needs().is_empty(), "{}", route.path);
        }
    }

    #[test]
    fn lists_of_paths_name_routes_that_are_there() {
        for path in KEYLESS.iter().chain(WORKS) {
            assert!(ROUTES.iter().any(|route| route.path == *path), "{path}");
        }
    }

    #[test]
    fn whatever_no_part_declares_needs_everything() {
        let route = served(Get, "/v1/agentsmith", Call::NotBuilt);
        assert_eq!(route.needs(), Scope::ALL);
    }

    #[test]
    fn what_a_route_does_decides_what_it_needs() {
        let needs = |verb, path| served(verb, path, Call::NotBuilt).needs();
        let session = "/v1/agents/sessions/{session_id}";
        assert_eq!(needs(Get, "/v1/agents/sessions"), [Scope::AgentsRead]);
        assert_eq!(
            needs(Post, "/v1/agents/sessions"),
            [Scope::AgentsWrite, Scope::ResponsesWrite]
        );
        assert_eq!(needs(Post, session), [Scope::AgentsWrite]);
        assert_eq!(needs(Delete, session), [Scope::AgentsWrite]);
        assert_eq!(
            needs(Get, "/v1/agents/sessions/{session_id}/events"),
            [Scope::AgentsRead]
        );
        assert_eq!(needs(Delete, "/v1/files/{file_id}"), [Scope::FilesWrite]);
    }
}
