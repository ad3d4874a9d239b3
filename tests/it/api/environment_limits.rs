//! Rules of environments that need only the body.

use serde_json::{Value, json};

use super::refusal::{
    SESSION_CREATE, accepted, empty_string, long_array, refused, with_environment,
};

fn hosted(field: &str, value: Value) -> Value {
    with_environment(json!({"type": "openai_hosted", field: value}))
}

#[test]
fn an_attached_environment_excludes_every_other_field() {
    accepted(SESSION_CREATE, hosted("environment_id", json!("env_1")));
    let source = json!({"type": "base64", "data": "", "media_type": "application/zip"});
    for (name, value) in [
        ("capability_directories", json!([])),
        ("container_size", json!("small")),
        ("desktop", json!({"enabled": false})),
        ("env", json!({})),
        ("environment_template_id", json!("tpl_1")),
        ("files", json!([])),
        ("network", json!({"access": "enabled"})),
        ("packages", json!({})),
        (
            "plugins",
            json!([{"type": "inline", "name": "n", "description": "d", "source": source}]),
        ),
        ("setup_commands", json!([])),
        ("skills", json!([])),
    ] {
        let param = format!("environment.{name}");
        refused(
            SESSION_CREATE,
            with_environment(
                json!({"type": "openai_hosted", "environment_id": "env_1", name: value}),
            ),
            &param,
            &format!("Invalid '{param}': it is not allowed beside 'environment.environment_id'."),
        );
    }
    let param = "environment.environment_id";
    refused(
        SESSION_CREATE,
        hosted("environment_id", json!("")),
        param,
        &empty_string(param),
    );
}

#[test]
fn files_go_below_the_workspace_each_to_its_own_place() {
    let file = |path: &str| json!({"type": "inline", "data": "YQ==", "path": path});
    let files = |files: Value| hosted("files", files);
    accepted(
        SESSION_CREATE,
        files(json!([
            file("/workspace/a"),
            file("/workspace/b/ü c.txt"),
            file("/workspace/outputs/a"),
        ])),
    );
    let outside = "must be an absolute POSIX path inside /workspace";
    let components = "cannot contain empty, . or .. path components";
    let strange = "cannot contain a backslash or a NUL character";
    for (path, what) in [
        ("", outside),
        ("a", outside),
        ("workspace/a", outside),
        ("/workspace", outside),
        ("/workspaces/a", outside),
        ("/etc/passwd", outside),
        ("/workspace/", components),
        ("/workspace//a", components),
        ("/workspace/a/", components),
        ("/workspace/./a", components),
        ("/workspace/../etc/passwd", components),
        ("/workspace/a/..", components),
        ("/workspace/a\\b", strange),
        ("/workspace/a\0b", strange),
        (
            "/workspace/outputs",
            "cannot be the directory /workspace/outputs",
        ),
    ] {
        let param = "environment.files[0].path";
        refused(
            SESSION_CREATE,
            files(json!([file(path)])),
            param,
            &format!("{param} {what}"),
        );
    }
    let param = "environment.files[1].path";
    refused(
        SESSION_CREATE,
        files(
            json!([file("/workspace/a"), {"type": "file_id", "file_id": "f", "path": "/workspace/a"}]),
        ),
        param,
        &format!("{param} duplicates an earlier file path"),
    );
}

#[test]
fn files_are_bounded_in_number_and_size() {
    let many = |files: usize| -> Value {
        (0..files)
            .map(|i| json!({"type": "file_id", "file_id": "f", "path": format!("/workspace/{i}")}))
            .collect()
    };
    accepted(SESSION_CREATE, hosted("files", many(50)));
    let param = "environment.files";
    refused(
        SESSION_CREATE,
        hosted("files", many(51)),
        param,
        &long_array(param, 50),
    );

    let inline = |data: &str, files: usize| {
        let files: Value = (0..files)
            .map(|i| json!({"type": "inline", "data": data, "path": format!("/workspace/{i}")}))
            .collect();
        hosted("files", files)
    };
    let largest = format!("{}==", "A".repeat(6_990_506));
    accepted(SESSION_CREATE, inline(&largest, 2));
    refused(
        SESSION_CREATE,
        inline(&largest, 3),
        param,
        "Invalid 'environment.files': inline files are larger than 10485760 bytes in all.",
    );
    let param = "environment.files[0].data";
    refused(
        SESSION_CREATE,
        inline(&"A".repeat(6_990_512), 1),
        param,
        &format!(
            "Invalid '{param}': string too long. Expected a string with maximum length 6990508, \
             but got a string with length 6990512 instead."
        ),
    );
    for data in ["YQ", "Y===", "_-==", "YQ==\n", "é"] {
        refused(
            SESSION_CREATE,
            inline(data, 1),
            param,
            "environment.files inline data must be a standard-base64 string",
        );
    }
}

#[test]
fn variables_have_ordinary_names_that_are_not_reserved() {
    let env = |name: &str, value: &str| hosted("env", json!({name: value}));
    accepted(SESSION_CREATE, env("_Token2", ""));
    for name in ["", "A=B", "2A", "A B", "É", "A\0"] {
        refused(
            SESSION_CREATE,
            env(name, "v"),
            "environment.env",
            &format!(
                "Invalid 'environment.env': '{name}' is no name of a variable. \
                 Expected letters, digits and underscores, not starting with a digit."
            ),
        );
    }
    for name in ["PATH", "OPENAI_API_KEY", "CODEX_HOME"] {
        let param = format!("environment.env.{name}");
        let message = format!("Invalid '{param}': the name is reserved.");
        refused(SESSION_CREATE, env(name, "v"), &param, &message);
    }
    refused(
        SESSION_CREATE,
        env("A", "v\0w"),
        "environment.env.A",
        "Invalid 'environment.env.A': a variable can't hold a NUL character.",
    );
}

#[test]
fn a_network_policy_says_one_thing() {
    let network = |policy: Value| hosted("network", policy);
    for policy in [
        json!({"access": "enabled"}),
        json!({"access": "disabled", "allowed_domains": [], "blocked_domains": []}),
        json!({"access": "restricted", "allowed_domains": ["example.org", "*.example.org", "a.b:8443"]}),
        json!({"access": "restricted", "blocked_domains": ["example.org"], "allowed_domains": []}),
        json!({"access": "restricted", "allowed_domains": vec!["example.org"; 100]}),
    ] {
        accepted(SESSION_CREATE, network(policy));
    }
    let check = |policy: Value, name: &str, what: &str| {
        let param = format!("environment.network.{name}");
        refused(
            SESSION_CREATE,
            network(policy),
            &param,
            &format!("Invalid '{param}': {what}."),
        );
    };
    check(
        json!({"access": "restricted"}),
        "allowed_domains",
        "'access' is 'restricted', so at least one domain is needed",
    );
    check(
        json!({"access": "enabled", "blocked_domains": ["example.org"]}),
        "blocked_domains",
        "it needs 'access' to be 'restricted'",
    );
    check(
        json!({"access": "restricted", "allowed_domains": ["a.b"], "blocked_domains": ["c.d"]}),
        "blocked_domains",
        "it is not allowed beside 'allowed_domains'",
    );
    for domain in ["", "https://example.org", "example.org/path", "a b", "a\nb"] {
        check(
            json!({"access": "restricted", "allowed_domains": ["example.org", domain]}),
            "allowed_domains[1]",
            "expected a host name, without a scheme or a path",
        );
    }
    let param = "environment.network.allowed_domains";
    refused(
        SESSION_CREATE,
        network(json!({"access": "restricted", "allowed_domains": vec!["a.b"; 101]})),
        param,
        &long_array(param, 100),
    );
}

#[test]
fn directories_are_absolute() {
    let own = |directory: &str| {
        with_environment(json!({"type": "self_hosted", "workspace_directory": directory}))
    };
    accepted(SESSION_CREATE, own("/home/me"));
    let param = "environment.workspace_directory";
    let message = format!("Invalid '{param}': expected an absolute path.");
    refused(SESSION_CREATE, own("home/me"), param, &message);
    refused(SESSION_CREATE, own(""), param, &message);

    let setup = |command: &str, cwd: &str| {
        hosted("setup_commands", json!([{"command": command, "cwd": cwd}]))
    };
    accepted(SESSION_CREATE, setup("make", "/workspace"));
    let param = "environment.setup_commands[0].cwd";
    let message = format!("Invalid '{param}': expected an absolute path.");
    refused(SESSION_CREATE, setup("make", "src"), param, &message);
    let param = "environment.setup_commands[0].command";
    refused(
        SESSION_CREATE,
        setup("", "/workspace"),
        param,
        &empty_string(param),
    );
}
