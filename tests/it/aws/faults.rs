//! What a network and AWS do to requests, between the store and the emulators.

use pretty_assertions::assert_eq;
use rat_things::backend::aws::client::{AwsClients, AwsOptions};
use rat_things::backend::aws::store::DynamoStore;
use rat_things::engine::ports::{
    Change, Commit, CommitId, Committed, Guard, Key, Store, StoreError, StoreFault, Write,
};

use super::emulators::Place;
use super::place;
use super::stand::proxy::{Fault, Proxy, Rule};
use super::stand::when::When;

const APPLIED: Result<Committed, StoreError> = Ok(Committed { repeated: false });

fn rule(operation: &'static str, when: When, fault: Fault) -> Rule {
    Rule {
        operation,
        when,
        fault,
    }
}

/// A store that reaches the emulators through these two.
async fn through(place: &Place, dynamodb: &Proxy, s3: &Proxy) -> DynamoStore {
    let options = AwsOptions {
        dynamodb_url: Some(dynamodb.url()),
        endpoint_url: Some(s3.url()),
        ..place.options.clone()
    };
    let clients = AwsClients::connect(&options).await.expect("a region");
    DynamoStore::new(&clients, &place.places)
}

fn proxies(place: &Place, dynamodb: Vec<Rule>, s3: Vec<Rule>) -> (Proxy, Proxy) {
    let before = |address, rules| Proxy::before(address, rules).expect("a port");
    (before(place.dynamodb, dynamodb), before(place.others, s3))
}

/// The n-th commit of a Session: its head, a receipt, and something that was written.
fn nth(n: u64) -> Commit {
    let write = |sort: String, guard, value: String| Write {
        key: Key::new("S/sess_a", sort),
        guard,
        change: Change::Put(value.into_bytes()),
    };
    let head = match n {
        0 => Guard::Absent,
        n => Guard::Version(n),
    };
    Commit {
        id: CommitId(u128::from(n).to_be_bytes()),
        writes: vec![
            write("head".to_owned(), head, n.to_string()),
            write(format!("receipt/{n}"), Guard::Absent, n.to_string()),
            write(format!("item/{n:010}"), Guard::Absent, format!("text {n}")),
        ]
        .into(),
    }
}

/// Repeats while it is unknown what happened, as the engine does.
async fn commit(store: &DynamoStore, n: u64) -> Result<Committed, StoreError> {
    let mut answer = store.commit(nth(n)).await;
    for _ in 0..10 {
        match answer {
            Err(StoreError::Unknown(_)) => answer = store.commit(nth(n)).await,
            answer => return answer,
        }
    }
    answer
}

#[tokio::test]
async fn what_passes_never_surfaces_and_every_commit_happens_once() {
    let place = place();
    let chance = |seed| When::Chance {
        per_thousand: 60,
        seed,
    };
    let conflict = Fault::Cancelled(&["None", "TransactionConflict", "None"]);
    let throttled = Fault::Cancelled(&["ThrottlingError", "TransactionConflict", "None"]);
    let (dynamodb, s3) = proxies(
        &place,
        vec![
            rule("", chance(1), Fault::DropRequest),
            rule("", chance(2), Fault::DropAnswer),
            rule("", chance(3), Fault::Throttle),
            rule("", chance(4), Fault::Throughput),
            rule("", chance(5), Fault::Internal),
            rule("TransactWriteItems", chance(6), conflict),
            rule("TransactWriteItems", chance(7), throttled),
        ],
        vec![
            rule("", chance(8), Fault::DropRequest),
            rule("", chance(9), Fault::DropAnswer),
            rule("", chance(10), Fault::Throttle),
            rule("", chance(11), Fault::Internal),
            rule("PUT", chance(12), Fault::Conflict),
        ],
    );
    let store = through(&place, &dynamodb, &s3).await;
    const COMMITS: u64 = 120;
    for n in 0..COMMITS {
        let answer = commit(&store, n).await;
        assert!(answer.is_ok(), "{n}: {answer:?}");
        let head = store.get(&Key::new("S/sess_a", "head")).await;
        let head = head.expect("reads").expect("a head");
        assert_eq!(
            (head.version, head.value),
            (n + 1, n.to_string().into_bytes())
        );
    }
    for (rules, which) in [(dynamodb.applied(), "DynamoDB"), (s3.applied(), "S3")] {
        assert!(rules.iter().all(|times| *times > 0), "{which}: {rules:?}");
    }
    // Whoever has nothing in the way finds all of it.
    let clean = DynamoStore::new(&place.clients, &place.places);
    for n in 0..COMMITS {
        let item = clean
            .get(&Key::new("S/sess_a", format!("item/{n:010}")))
            .await;
        let item = item.expect("reads").expect("an item");
        assert_eq!(
            (item.version, item.value),
            (1, format!("text {n}").into_bytes())
        );
    }
}

#[tokio::test]
async fn an_answer_that_was_lost_is_settled_by_the_same_transaction() {
    let place = place();
    let lost = rule("TransactWriteItems", When::Nth(1), Fault::DropAnswer);
    let (dynamodb, s3) = proxies(&place, vec![lost], Vec::new());
    let store = through(&place, &dynamodb, &s3).await;
    assert_eq!(store.commit(nth(0)).await, APPLIED);
    assert_eq!(dynamodb.applied(), [1]);
    let head = store.get(&Key::new("S/sess_a", "head")).await;
    assert_eq!(head.expect("reads").map(|head| head.version), Some(1));
}

#[tokio::test]
async fn two_who_store_the_same_content_at_once_do_not_end_a_commit() {
    let place = place();
    let conflict = rule("PUT", When::Nth(1), Fault::Conflict);
    let (dynamodb, s3) = proxies(&place, Vec::new(), vec![conflict]);
    let store = through(&place, &dynamodb, &s3).await;
    assert_eq!(store.commit(nth(0)).await, APPLIED);
    assert_eq!(s3.applied(), [1]);
}

#[tokio::test]
async fn credentials_that_are_too_old_are_the_operators_to_renew() {
    let place = place();
    let expired = rule("", When::Every, Fault::Expired);
    let (dynamodb, s3) = proxies(&place, vec![expired], Vec::new());
    let store = through(&place, &dynamodb, &s3).await;
    for answer in [
        store.commit(nth(0)).await.map(drop),
        store.get(&Key::new("S/sess_a", "head")).await.map(drop),
    ] {
        let fault = match answer {
            Err(StoreError::Broken { fault, .. }) => fault,
            other => panic!("{other:?}"),
        };
        assert_eq!(fault, StoreFault::Credentials);
    }
}
