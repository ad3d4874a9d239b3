//! A Session on its machine, undisturbed.

use pretty_assertions::assert_eq;

use super::account::Account;

#[tokio::test(flavor = "multi_thread")]
async fn a_session_has_a_machine_of_its_own_which_takes_one_message_after_the_other_and_ends() {
    let account = Account::new("aws.worker_idle_s = 15\naws.usd_per_1000_hours = 82\n").await;
    let _daemon = account.daemon();
    let session = account.create("@exec echo one > outputs/a.txt\n@say done");
    account.wait(&session);
    let living = account.living();
    assert_eq!(living.len(), 1, "{living:?}");
    let machines = account.json(&["runs", "list", "--machines"]);
    let machine = &machines["data"][0];
    assert_eq!(machine["id"].as_str(), Some(living[0].as_str()));
    assert_eq!(machine["session_id"].as_str(), Some(session.as_str()));
    assert_eq!(machine["state"].as_str(), Some("running"));
    assert!(machine["cost_usd"].is_number(), "{machine}");
    // The next message finds the files of the one before.
    account.send(&session, "@exec cat outputs/a.txt\n@say again");
    account.wait(&session);
    assert_eq!(account.turns(&session), ["completed", "completed"]);
    let commands = account.commands(&session);
    assert_eq!(
        commands.last().map(|(_, _, output)| output.trim()),
        Some("one")
    );
    assert_eq!(account.launched(), 1);
    assert_eq!(account.resets(&session), 0);
    let artifacts = account.json(&["sessions", "artifacts", &session]);
    // Each Turn keeps what is there at its end.
    assert_eq!(artifacts["data"].as_array().map(Vec::len), Some(2));
    account.until("the machine ends for having nothing to do", || {
        account.living().is_empty()
    });
    // On the next one the files are gone, and that is told.
    account.send(&session, "@exec ls outputs\n@say third");
    account.wait(&session);
    assert_eq!(account.launched(), 2);
    assert_eq!(account.resets(&session), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancel_reaches_a_machine_and_an_agent_reaches_nothing_of_it() {
    let account = Account::new("sandbox.network = \"enabled\"\n").await;
    let _daemon = account.daemon();
    let ask = "curl -s -m 5 -o /dev/null -w '%{http_code}' http://169.254.169.254/latest/meta-data/instance-id; echo; env | grep -c AWS_";
    let session = account.create(&format!("@exec {ask}\n@exec sleep 600\n@say never"));
    account.until_running(&session, "sleep 600");
    let commands = account.commands(&session);
    let (_, _, output) = &commands[0];
    let lines: Vec<&str> = output.lines().collect();
    assert!(lines[0] != "200" && lines[0] != "401", "{output}");
    assert_eq!(lines.get(1), Some(&"0"), "{output}");
    let cancelled = account.run(&["sessions", "cancel", &session]);
    assert!(cancelled.status.success(), "{cancelled:?}");
    assert_eq!(account.turns(&session), ["cancelled"]);
}
