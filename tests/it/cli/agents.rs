//! `agents …`

use serde_json::Value;

use super::env::TestEnv;
use super::scrub::seen;

const UTC: &str = "[ui]\ntime = 'utc'\n";

#[test]
fn an_agent_is_saved_shown_changed_and_forgotten() {
    let env = TestEnv::configured(UTC);
    let created = env.json("agents create --model gpt-x --name reviewer --instructions 'Be kind.' --metadata team=infra");
    let id = created["id"].as_str().expect("an id").to_owned();
    let prefix = &id[..12];
    env.scrub().page(&id);
    seen!(env.page(&[
        "agents list -o table",
        &format!("agents get {prefix} -o table"),
        &format!("agents get {prefix} -o json"),
        &format!("agents get {prefix} -o yaml"),
        &format!(
            "agents update {prefix} --model gpt-y --name '' --metadata team= --metadata tier=gold"
        ),
        &format!("agents update {prefix} --instructions ''"),
        "agents list",
        "agents list -o wide",
        "agents list -o id",
        &format!("agents delete {prefix}"),
        &format!("agents delete {prefix} --yes"),
        &format!("agents get {id}"),
        &format!("agents delete {id} --yes"),
        "agents list -o table",
        "agents list -o json",
    ]));
}

#[test]
fn a_session_keeps_the_agent_it_was_created_with() {
    let env = TestEnv::new();
    let agent = env.ok("agents create --model demo --instructions 'first' -o id");
    let session = env.ok(&format!(
        "sessions create --agent-id {} --no-autostart -o id",
        &agent[..12]
    ));
    env.ok(&format!("agents update {agent} --instructions second"));
    env.ok(&format!("agents delete {agent} --yes"));
    let resource = env.json(&format!("sessions get {session}"));
    assert_eq!(resource["agent"]["instructions"], "first");
    assert_eq!(resource["agent"]["id"], Value::String(agent.clone()));
    let listed = env.ok(&format!("sessions list --agent-id {agent} -o id"));
    assert_eq!(listed, session);
    let gone = env.run(&format!("sessions create --agent-id {agent}"));
    assert_eq!(gone.code, 3, "{gone:#?}");
}

#[test]
fn whole_requests_come_from_files_and_standard_input() {
    let env = TestEnv::new();
    let request = r#"{"model":"m","tools":[{"type":"function","name":"lookup","description":"","parameters":{"type":"object"}}]}"#;
    std::fs::write(env.path("agent.json"), request).expect("writes");
    let created = env.json("agents create -f agent.json");
    assert_eq!(created["tools"][0]["name"], "lookup");
    let id = created["id"].as_str().expect("an id");
    let ran = env.run_with(
        &format!("agents update {id} -f - -o json"),
        b"{\"tools\":null,\"name\":\"n\"}",
    );
    let updated: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!(
        (updated["tools"].clone(), updated["name"].clone()),
        (Value::Array(vec![]), "n".into())
    );
    env.scrub().page(id);
    seen!(env.page(&[
        "agents create -f missing.json",
        &format!("agents update {id}"),
        &format!("agents update {id} --model ''"),
        "agents create --instructions x",
        "agents create --model m --metadata novalue",
    ]));
    for (body, field) in [
        ("{", "JSON"),
        ("{}", "model"),
        (r#"{"model":"m","modle":"x"}"#, "modle"),
        (r#"{"model":1}"#, "model"),
        (
            r#"{"model":"m","tools":[{"type":"magic"}]}"#,
            "tools[0].type",
        ),
    ] {
        let ran = env.run_with("agents create -f -", body.as_bytes());
        assert_eq!(ran.code, 2, "{body}: {ran:#?}");
        assert!(ran.stderr.contains(field), "{body}: {}", ran.stderr);
    }
    assert_eq!(env.ok("agents list -o id").lines().count(), 1);
}
