//! Vaults and credentials: what they are for is shown, what they hold never.

use serde_json::{Value, json};

use super::world::{Api, read, refusal, session_of};
use crate::cli::env::files_below;

const MARK: &str = "hunter2";

fn oauth() -> Value {
    json!({
        "type": "mcp_oauth", "access_token": format!("{MARK}-access"), "mcp_server_url": "https://mcp.example.org/a",
        "expires_at": "2030-01-02T03:04:05Z",
        "refresh": {
            "client_id": "client", "refresh_token": format!("{MARK}-refresh"), "scope": "read write",
            "token_endpoint": "https://auth.example.org/token",
            "token_endpoint_auth": {"type": "client_secret_basic", "client_secret": format!("{MARK}-client")},
        },
    })
}

fn bearer() -> Value {
    json!({"type": "static_bearer", "token": MARK, "mcp_server_url": "https://mcp.example.org"})
}

fn variable() -> Value {
    json!({
        "type": "environment_variable", "secret_name": "SERVICE_KEY", "secret_value": MARK,
        "networking": {"type": "limited", "allowed_hosts": ["API.example.org", "192.0.2.7"]},
    })
}

fn id(of: &Value) -> &str {
    of["id"].as_str().expect("an id")
}

async fn delete(api: &Api, path: &str) -> Value {
    read(api.request("DELETE", path).send().await.expect("answers")).await
}

#[tokio::test]
async fn vaults_are_made_listed_changed_and_deleted() {
    let api = Api::new();
    let first = api.post("/vaults", &json!({})).await;
    let second = json!({"name": "work", "metadata": {"team": "a", "tier": "b"}});
    let second = api.post("/vaults", &second).await;
    assert_eq!(
        first,
        json!({"id": id(&first), "created_at": first["created_at"], "metadata": {}, "name": null, "object": "vault"})
    );
    let at = format!("/vaults/{}", id(&second));
    assert_eq!(api.get(&at).await, second);
    for (query, found) in [
        ("", vec![&second, &first]),
        ("?order=asc", vec![&first, &second]),
        ("?limit=1", vec![&second]),
        ("?metadata[team]=a", vec![&second]),
        ("?metadata[team]=a&metadata[tier]=b", vec![&second]),
        ("?metadata[team]=b", vec![]),
        ("?status=active", vec![&second, &first]),
        ("?status[]=archived&status[]=active", vec![&second, &first]),
        ("?status=archived", vec![]),
        ("?status[]=archived", vec![]),
    ] {
        let page = api.get(&format!("/vaults{query}")).await;
        assert_eq!(page["data"], json!(found), "{query}");
        assert_eq!(page["has_more"], json!(query == "?limit=1"));
    }
    let (status, error) = refusal(api.request("GET", "/vaults?status=gone")).await;
    assert_eq!((status, &error["param"]), (400, &json!("status")));

    let changed = api.post(&at, &json!({"metadata": {}})).await;
    assert_eq!(
        (&changed["name"], &changed["metadata"]),
        (&json!("work"), &json!({}))
    );
    let changed = api.post(&at, &json!({"name": null})).await;
    assert_eq!(changed["name"], Value::Null);

    // A Session may be given those that are there.
    let mut body = session_of("none", "@say hi");
    body["vault_ids"] = json!([id(&second)]);
    let session = api.post("/agents/sessions", &body).await;
    assert_eq!(session["vault_ids"], json!([id(&second)]));
    body["vault_ids"] = json!([id(&second), format!("vault_{}", "a".repeat(26))]);
    let (status, error) = refusal(api.request("POST", "/agents/sessions").json(&body)).await;
    assert_eq!((status, &error["param"]), (400, &json!("vault_ids[1]")));

    let gone = json!({"id": id(&second), "deleted": true, "object": "vault.deleted"});
    assert_eq!(delete(&api, &at).await, gone);
    assert_eq!(refusal(api.request("GET", &at)).await.0, 404);
    assert_eq!(api.get("/vaults").await["data"], json!([first]));
}

#[tokio::test]
async fn credentials_show_what_they_are_for_and_nothing_that_they_hold() {
    let api = Api::new();
    let vault = api.post("/vaults", &json!({})).await;
    let at = format!("/vaults/{}/credentials", id(&vault));
    let mut made = Vec::new();
    for (auth, shown) in [
        (
            oauth(),
            json!({
                "type": "mcp_oauth", "expires_at": "2030-01-02T03:04:05Z", "mcp_server_url": "https://mcp.example.org/a",
                "refresh": {
                    "client_id": "client", "resource": null, "scope": "read write",
                    "token_endpoint": "https://auth.example.org/token",
                    "token_endpoint_auth": {"type": "client_secret_basic"},
                },
            }),
        ),
        (
            bearer(),
            json!({"type": "static_bearer", "mcp_server_url": "https://mcp.example.org"}),
        ),
        (
            variable(),
            json!({
                "type": "environment_variable", "secret_name": "SERVICE_KEY",
                "networking": {"type": "limited", "allowed_hosts": ["api.example.org", "192.0.2.7"]},
            }),
        ),
    ] {
        let body = json!({"name": "  name ", "auth": auth, "metadata": {"k": "v"}});
        let credential = api.post(&at, &body).await;
        assert_eq!(
            credential,
            json!({
                "id": id(&credential), "auth": shown, "created_at": credential["created_at"], "metadata": {"k": "v"},
                "name": "name", "object": "vault.credential", "updated_at": credential["created_at"],
                "vault_id": id(&vault),
            })
        );
        let path = format!("{at}/{}", id(&credential));
        assert_eq!(api.get(&path).await, credential);
        made.insert(0, credential);
    }
    assert_eq!(
        api.get(&format!("{at}?metadata[k]=v")).await["data"],
        json!(made)
    );
    assert_eq!(
        api.get(&format!("{at}?status=archived")).await["data"],
        json!([])
    );

    // Nothing of it is readable in any file.
    for path in files_below(&api.env.data()) {
        // A socket can't be read.
        let bytes = std::fs::read(&path).unwrap_or_default();
        let found = bytes
            .windows(MARK.len())
            .any(|window| window == MARK.as_bytes());
        assert!(!found, "{}", path.display());
    }

    let path = format!("{at}/{}", id(&made[0]));
    let gone = json!({"id": id(&made[0]), "deleted": true, "object": "vault.credential.deleted"});
    assert_eq!(delete(&api, &path).await, gone);
    assert_eq!(refusal(api.request("GET", &path)).await.0, 404);
    delete(&api, &format!("/vaults/{}", id(&vault))).await;
    let path = format!("{at}/{}", id(&made[1]));
    assert_eq!(refusal(api.request("GET", &path)).await.0, 404);
}

#[tokio::test]
async fn rotation_changes_secrets_and_never_what_they_are_for() {
    let api = Api::new();
    let vault = api.post("/vaults", &json!({})).await;
    let list = format!("/vaults/{}/credentials", id(&vault));
    let credential = api
        .post(&list, &json!({"name": "n", "auth": oauth()}))
        .await;
    let at = format!("{list}/{}", id(&credential));
    let expiry = async |auth: Value| {
        let changed = api.post(&at, &json!({"auth": auth})).await;
        changed["auth"]["expires_at"].clone()
    };
    let known = json!("2030-01-02T03:04:05Z");
    assert_eq!(expiry(json!({"type": "mcp_oauth"})).await, known);
    let refresh = json!({"refresh_token": "r", "token_endpoint_auth": {"type": "client_secret_basic", "client_secret": "c"}});
    assert_eq!(
        expiry(json!({"type": "mcp_oauth", "refresh": refresh})).await,
        known
    );
    assert_eq!(
        expiry(json!({"type": "mcp_oauth", "access_token": "new"})).await,
        Value::Null
    );
    let later = "2031-01-01T00:00:00+02:00";
    assert_eq!(
        expiry(json!({"type": "mcp_oauth", "access_token": "n", "expires_at": later})).await,
        json!(later)
    );
    assert_eq!(
        expiry(json!({"type": "mcp_oauth", "expires_at": null})).await,
        Value::Null
    );
    let scopes = api
        .post(
            &at,
            &json!({"auth": {"type": "mcp_oauth", "refresh": {"scope": null}}}),
        )
        .await;
    assert_eq!(scopes["auth"]["refresh"]["scope"], Value::Null);
    let metadata = api.post(&at, &json!({"metadata": {"a": "b"}})).await;
    assert_eq!(metadata["metadata"], json!({"a": "b"}));
    let same = api.post(&at, &json!({})).await;
    assert_eq!(same["auth"], metadata["auth"]);

    let post = json!({"type": "client_secret_post", "client_secret": "c"});
    for (auth, param) in [
        (json!({"type": "static_bearer", "token": "t"}), "auth.type"),
        (
            json!({"type": "mcp_oauth", "mcp_server_url": "https://other.example.org"}),
            "auth.mcp_server_url",
        ),
        (
            json!({"type": "mcp_oauth", "refresh": {"client_id": "other"}}),
            "auth.refresh.client_id",
        ),
        (
            json!({"type": "mcp_oauth", "refresh": {"token_endpoint_auth": post}}),
            "auth.refresh.token_endpoint_auth.type",
        ),
        (
            json!({"type": "mcp_oauth", "expires_at": "tomorrow"}),
            "auth.expires_at",
        ),
        (
            json!({"type": "mcp_oauth", "access_token": ""}),
            "auth.access_token",
        ),
    ] {
        let (status, error) = refusal(api.request("POST", &at).json(&json!({"auth": auth}))).await;
        assert_eq!((status, &error["param"]), (400, &json!(param)), "{error}");
    }
}

#[tokio::test]
async fn what_is_no_credential_is_refused_by_name() {
    let api = Api::new();
    let vault = api.post("/vaults", &json!({})).await;
    let at = format!("/vaults/{}/credentials", id(&vault));
    let with = |auth: &Value, pointer: &str, value: Value| {
        let mut body = json!({"name": "n", "auth": auth});
        *body.pointer_mut(pointer).expect("is there") = value;
        body
    };
    let hosts = |hosts: Value| with(&variable(), "/auth/networking/allowed_hosts", hosts);
    let many: Vec<String> = (0..17).map(|n| format!("h{n}.example.org")).collect();
    let host = "auth.networking.allowed_hosts[0]";
    for (body, param) in [
        (with(&bearer(), "/name", json!("   ")), "name"),
        (with(&bearer(), "/name", json!("n".repeat(257))), "name"),
        (with(&bearer(), "/auth/token", json!("")), "auth.token"),
        (with(&bearer(), "/auth/token", json!("a\nb")), "auth.token"),
        (
            with(
                &bearer(),
                "/auth/mcp_server_url",
                json!("http://mcp.example.org"),
            ),
            "auth.mcp_server_url",
        ),
        (
            with(&bearer(), "/auth/mcp_server_url", json!("https://")),
            "auth.mcp_server_url",
        ),
        (
            with(
                &bearer(),
                "/auth/mcp_server_url",
                json!("https://a:b@c.org"),
            ),
            "auth.mcp_server_url",
        ),
        (with(&bearer(), "/auth/type", json!("other")), "auth.type"),
        (
            with(&oauth(), "/auth/expires_at", json!("2030-01-02 03:04:05Z")),
            "auth.expires_at",
        ),
        (
            with(&oauth(), "/auth/refresh/token_endpoint", json!("ftp://a")),
            "auth.refresh.token_endpoint",
        ),
        (
            with(&variable(), "/auth/secret_name", json!("codex_home")),
            "auth.secret_name",
        ),
        (
            with(&variable(), "/auth/secret_name", json!("https_proxy")),
            "auth.secret_name",
        ),
        (
            with(&variable(), "/auth/secret_name", json!("SSL_CERT_FILE")),
            "auth.secret_name",
        ),
        (
            with(&variable(), "/auth/secret_name", json!("1A")),
            "auth.secret_name",
        ),
        (
            with(&variable(), "/auth/secret_value", json!("a\u{0}")),
            "auth.secret_value",
        ),
        (hosts(json!([])), "auth.networking.allowed_hosts"),
        (hosts(json!(many)), "auth.networking.allowed_hosts"),
        (hosts(json!(["https://a.org"])), host),
        (hosts(json!(["a.org:443"])), host),
        (hosts(json!(["*.a.org"])), host),
        (hosts(json!(["::1"])), host),
        (hosts(json!(["1.2.3.256"])), host),
        (hosts(json!(["1.2.3"])), host),
        (hosts(json!(["1.2.3.04"])), host),
        (
            hosts(json!(["a.org", "A.org"])),
            "auth.networking.allowed_hosts[1]",
        ),
    ] {
        let (status, error) = refusal(api.request("POST", &at).json(&body)).await;
        assert_eq!((status, &error["param"]), (400, &json!(param)), "{error}");
        assert!(!error.to_string().contains(MARK), "{error}");
    }
    let unknown = format!("/vaults/vault_{}/credentials", "a".repeat(26));
    let body = json!({"name": "n", "auth": bearer()});
    let (status, _) = refusal(api.request("POST", &unknown).json(&body)).await;
    assert_eq!(status, 404);
    assert_eq!(api.get(&at).await["data"], json!([]));
}
