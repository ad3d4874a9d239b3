//! What a machine sees of the system that it runs on, and the other way round.

use pretty_assertions::assert_eq;

use super::{host, run, said};

#[tokio::test]
async fn a_machine_has_its_own_root_processes_and_network() {
    let host = host(Vec::new());
    let here = env!("CARGO_MANIFEST_DIR");
    let text = format!(
        r#"
        echo "user $(id -u) home ${{HOME-none}} path $PATH"
        ls /root /home /tmp {here} | grep -v :
        for dir in etc usr/local/bin opt var/lib root tmp; do echo x >/$dir/rat-things-was-here; done
        cat /etc/rat-things-was-here
        echo "first $(cat /proc/1/comm)"
        ip -brief address show | tr -s ' '
        ls /sys/class/net
        echo done
        "#
    );
    let id = run(&host, &text).await;
    let id_2 = run(&host, "ls /etc/rat-things-was-here; echo done").await;
    let said_1 = said(&host, &id, "done");
    let lines: Vec<_> = said_1
        .lines()
        .filter(|line| !line.trim().is_empty())
        .collect();
    assert_eq!(
        lines,
        [
            "user 0 home none path /usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            "x",
            "first sh",
            "lo UNKNOWN 127.0.0.1/8 169.254.169.254/32 ::1/128 ",
            "lo",
        ]
    );
    assert!(said(&host, &id_2, "done").contains("No such file"));
    for dir in ["etc", "usr/local/bin", "opt", "var/lib", "root", "tmp"] {
        let path = format!("/{dir}/rat-things-was-here");
        assert!(!std::path::Path::new(&path).exists(), "{path}");
    }
}

#[tokio::test]
async fn processes_that_lost_their_parent_are_not_left_dead() {
    let host = host(Vec::new());
    let text = "
        (sh -c 'exit 0' & )
        for try in 1 2 3 4 5 6 7 8 9; do
          grep -l '^State:.Z' /proc/[0-9]*/status || break
          sleep 1
        done
        grep -l '^State:.Z' /proc/[0-9]*/status || echo none
        echo done";
    let id = run(&host, text).await;
    assert!(said(&host, &id, "done").ends_with("none\n"));
}

#[tokio::test]
async fn user_data_that_is_no_script_is_not_run() {
    let host = host(Vec::new());
    let client = crate::aws::stand::ec2::tests::client(&host.ec2().url());
    let launch = crate::aws::stand::ec2::tests::launch(&client, "a").user_data("ZWNobyBydW5z");
    let id = super::id(launch).await;
    assert_eq!(said(&host, &id, "the user data is no script"), "");
}
