//! Ways out of machines, and what becomes of what is under way when they are cut off.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use pretty_assertions::assert_eq;

use super::*;
use crate::aws::stand::listen::{Listening, Reply, listen};

/// A service that counts who asked, and answers with the count.
fn service() -> (Listening, Arc<AtomicU64>) {
    let asked = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&asked);
    let listening = listen(move |_| {
        let n = counted.fetch_add(1, Ordering::SeqCst) + 1;
        Reply::Bytes(format!("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{n}\n").into_bytes())
    });
    (listening.expect("loopback"), asked)
}

#[tokio::test]
async fn a_machine_gets_where_it_has_a_way_to_and_nowhere_else() {
    let ((one, asked_one), (two, asked_two)) = (service(), service());
    let host = host(vec![one.address]);
    let text = format!(
        "curl -sS http://{}/ || echo no way; curl -sS http://{}/ || echo no way; curl -sS --max-time 5 http://192.0.2.1/ || echo no way; echo done",
        one.address, two.address
    );
    let machine = run(&host, &text).await;
    let said = said(&host, &machine, "done");
    let answers: Vec<_> = said
        .lines()
        .filter(|line| !line.starts_with("curl:"))
        .collect();
    assert_eq!(answers, ["1", "no way", "no way"]);
    assert_eq!(
        (
            asked_one.load(Ordering::SeqCst),
            asked_two.load(Ordering::SeqCst)
        ),
        (1, 0)
    );
}

#[tokio::test]
async fn what_a_machine_sends_while_it_is_cut_off_arrives_when_it_is_back() {
    let (service, asked) = service();
    let host = host(vec![service.address]);
    let text = format!(
        "curl -sS http://{0}/
        echo one
        until [ -e /tmp/cut ]; do sleep 0.1; done
        curl -sS --max-time 1 http://{0}/ || echo no answer
        echo two
        curl -sS http://{0}/
        echo three",
        service.address
    );
    // The metadata service is not behind the network, and tells a machine when to go on.
    let text = text.replace(
        "[ -e /tmp/cut ]",
        "curl -sf http://169.254.169.254/latest/meta-data/spot/instance-action >/dev/null",
    );
    let machine = run(&host, &text).await;
    assert_eq!(said(&host, &machine, "one"), "1\n");
    host.cut(&machine);
    host.notice(&machine);
    let said_now = said(&host, &machine, "two");
    assert!(said_now.ends_with("no answer\n"), "{said_now}");
    assert_eq!(asked.load(Ordering::SeqCst), 1);
    host.mend(&machine);
    // The request that nobody waits for any more may arrive as well, as late ones do.
    said(&host, &machine, "three");
    assert!((2..=3).contains(&asked.load(Ordering::SeqCst)));
}
