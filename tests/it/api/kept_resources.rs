//! Files, vaults, credentials and templates have the fields of the contract.

use rat_things::api::*;
use serde_json::json;

use super::shape::{check, check_words};

#[test]
fn files_have_the_fields_of_the_contract() {
    check::<FileObject>(
        "id bytes created_at filename object purpose status",
        "expires_at status_details",
        json!({
            "id": "file_1", "bytes": 3, "created_at": 1_800_000_000, "filename": "a.txt", "object": "file",
            "purpose": "fine-tune", "status": "processed", "expires_at": 1_800_003_600, "status_details": "fine",
        }),
    );
    check::<FileDeleted>(
        "id deleted object",
        "",
        json!({"id": "file_1", "deleted": true, "object": "file"}),
    );
    check_words::<FilePurpose>(
        "assistants assistants_output batch batch_output fine-tune fine-tune-results vision user_data evals",
    );
    check_words::<FileStatus>("uploaded processed error");
}

#[test]
fn vaults_and_credentials_have_the_fields_of_the_contract() {
    check::<Vault>(
        "id created_at metadata name object",
        "",
        json!({"id": "vault_1", "created_at": 1_800_000_000, "metadata": {"a": "b"}, "name": "n", "object": "vault"}),
    );
    check::<VaultDeleted>(
        "id deleted object",
        "",
        json!({"id": "vault_1", "deleted": true, "object": "vault.deleted"}),
    );
    check::<Credential>(
        "id auth created_at metadata name object updated_at vault_id",
        "",
        json!({
            "id": "cred_1", "auth": {"type": "static_bearer", "mcp_server_url": "https://a.example.org"},
            "created_at": 1_800_000_000, "metadata": {}, "name": "n", "object": "vault.credential",
            "updated_at": 1_800_000_000, "vault_id": "vault_1",
        }),
    );
    check::<CredentialDeleted>(
        "id deleted object",
        "",
        json!({"id": "cred_1", "deleted": true, "object": "vault.credential.deleted"}),
    );
    check::<CredentialAuth>(
        "type expires_at mcp_server_url refresh",
        "",
        json!({
            "type": "mcp_oauth", "expires_at": "2030-01-01T00:00:00Z", "mcp_server_url": "https://a.example.org",
            "refresh": null,
        }),
    );
    check::<OauthRefresh>(
        "client_id resource scope token_endpoint token_endpoint_auth",
        "",
        json!({
            "client_id": "c", "resource": "r", "scope": "s", "token_endpoint": "https://a.example.org",
            "token_endpoint_auth": {"type": "client_secret_post"},
        }),
    );
    check::<CredentialAuth>(
        "type networking secret_name",
        "",
        json!({
            "type": "environment_variable", "networking": {"type": "limited", "allowed_hosts": ["a.org"]},
            "secret_name": "KEY",
        }),
    );
    check_words::<VaultStatus>("active archived");
}

#[test]
fn templates_and_their_lists_have_the_fields_of_the_contract() {
    check::<EnvironmentTemplate>(
        "id capability_directories created_at files name network object packages plugins skills updated_at",
        "desktop",
        json!({
            "id": "tmpl_1", "capability_directories": [], "created_at": 1_800_000_000,
            "files": [
                {"type": "file_id", "file_id": "file_1", "path": "/workspace/a"},
                {"type": "inline", "path": "/workspace/b", "size_bytes": 1},
            ],
            "name": "n", "network": {"access": "disabled", "allowed_domains": []},
            "object": "agent.environment.template", "packages": {"npm": [], "python": [], "system": []},
            "plugins": [], "skills": [{"type": "skill_reference", "skill_id": "s", "version": null}],
            "updated_at": 1_800_000_000, "desktop": {"enabled": false},
        }),
    );
    check::<EnvironmentTemplateDeleted>(
        "id deleted object",
        "",
        json!({"id": "tmpl_1", "deleted": true, "object": "agent.environment.template.deleted"}),
    );
    check::<TokenPage<EnvironmentFile>>(
        "object data has_more next first_id last_id",
        "",
        json!({
            "object": "list",
            "data": [{"environment_id": "env_1", "object": "agent.environment.file", "path": "/workspace/a", "size_bytes": 1}],
            "has_more": true, "next": "token", "first_id": null, "last_id": null,
        }),
    );
}

#[test]
fn requests_show_no_secret_and_a_client_can_send_it() {
    let body = json!({
        "auth": {
            "type": "mcp_oauth", "access_token": "hunter2", "mcp_server_url": "https://a.example.org",
            "refresh": {
                "client_id": "c", "refresh_token": "hunter2", "token_endpoint": "https://a.example.org",
                "token_endpoint_auth": {"type": "client_secret_basic", "client_secret": "hunter2"},
            },
        },
        "name": "n",
    });
    let params = parse_credential_create(body.to_string().as_bytes()).expect("valid");
    assert!(!format!("{params:?}").contains("hunter2"));
    assert_eq!(serde_json::to_value(&params).ok(), Some(body));
    let body = json!({"env": {"A": "hunter2"}, "files": [{"type": "inline", "data": "aHVudGVyMg==", "path": "/workspace/a"}]});
    let params = parse_template_create(body.to_string().as_bytes()).expect("valid");
    let shown = format!("{params:?}");
    assert!(
        !shown.contains("hunter2") && !shown.contains("aHVu"),
        "{shown}"
    );
    assert_eq!(serde_json::to_value(&params).ok(), Some(body));
}
