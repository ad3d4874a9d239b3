//! How many requests to AWS the ports send, counted where they are sent.

use pretty_assertions::assert_eq;
use rat_things::backend::aws::store::DynamoStore;
use rat_things::engine::ports::{Change, Commit, CommitId, Guard, Key, Range, Store, Write};

use super::place;

fn put(partition: &str, sort: &str, bytes: usize) -> Write {
    Write {
        key: Key::new(partition, sort),
        guard: Guard::Absent,
        change: Change::Put(vec![b'x'; bytes]),
    }
}

#[tokio::test]
async fn a_commit_is_one_transaction_and_at_most_one_object() {
    let place = place();
    let clients = &place.clients;
    let store = DynamoStore::new(clients, &place.places);
    let commit = |n: u128, writes: Vec<Write>| Commit {
        id: CommitId(n.to_be_bytes()),
        writes: writes.into(),
    };
    let decided = vec![
        put("S/sess_a", "head", 90),
        put("A/execute/0", "1/sess_a", 1),
    ];
    store.commit(commit(1, decided)).await.expect("a commit");
    assert_eq!(clients.calls().total(), 1);
    let written = (0..20).map(|n| put("S/sess_a", &format!("item/{n:010}"), 900));
    store
        .commit(commit(2, written.collect()))
        .await
        .expect("a commit");
    assert_eq!(clients.calls().total(), 3);

    // Who wrote it reads it with one request, and anybody else with two, however many rows there are.
    let all = Range::prefix("S/sess_a", "item/", 50);
    for (store, calls) in [(&store, 1), (&DynamoStore::new(clients, &place.places), 2)] {
        let before = clients.calls().total();
        let page = store.range(&all).await.expect("a page");
        assert_eq!((page.records.len(), page.more), (20, false));
        assert!(page.records.iter().all(|row| row.value == vec![b'x'; 900]));
        assert_eq!(clients.calls().total() - before, calls);
    }
    let shown: Vec<String> = { clients.calls().counts() }
        .into_iter()
        .map(|(call, n)| {
            format!(
                "{} {} {} {n}",
                call.service,
                call.operation,
                call.purpose.name()
            )
        })
        .collect();
    assert_eq!(
        shown,
        [
            "DynamoDB Query range 2",
            "DynamoDB TransactWriteItems commit 2",
            "S3 GetObject content 1",
            "S3 PutObject content 1",
        ]
    );
}
