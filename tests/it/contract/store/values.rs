//! Bytes and keys come back as they were given.

use std::sync::Arc;

use pretty_assertions::assert_eq;
use rat_things::backend::local::store::{INLINE_NEW_BYTES, INLINE_ROW_BYTES};
use rat_things::engine::ports::{Guard, Key, Store, Write};

use super::{APPLIED, commit, put, row};

/// Sizes around every boundary a store may have.
const SIZES: [usize; 16] = [
    0,
    1,
    INLINE_NEW_BYTES,
    INLINE_NEW_BYTES + 1,
    399,
    400,
    401,
    // The key has two bytes where the row is rewritten.
    INLINE_ROW_BYTES - 3,
    INLINE_ROW_BYTES - 2,
    INLINE_ROW_BYTES - 1,
    INLINE_ROW_BYTES,
    4096,
    4097,
    64 * 1024,
    64 * 1024 + 1,
    300 * 1024,
];

fn bytes(size: usize, seed: usize) -> Vec<u8> {
    (0..size)
        .map(|i| (i * 31 + seed * 7 + i / 251) as u8)
        .collect()
}

pub async fn every_size_comes_back_as_it_was(store: Arc<dyn Store>) {
    for (n, size) in SIZES.into_iter().enumerate() {
        let value = bytes(size, n);
        let sort = format!("size/{size}");
        let one = commit(n as u128, vec![put(&sort, Guard::Absent, value.clone())]);
        assert_eq!(store.commit(one).await, APPLIED);
        let found = row(&*store, &sort).await;
        assert!(found == Some((1, value)), "{size} bytes");
    }
}

pub async fn a_value_may_grow_and_shrink(store: Arc<dyn Store>) {
    let mut version = 0;
    for from in SIZES {
        for to in [SIZES[0], SIZES[3], SIZES[8], SIZES[9], SIZES[13]] {
            for size in [from, to] {
                version += 1;
                let value = bytes(size, version);
                let next = commit(version as u128, vec![put("a", Guard::Any, value.clone())]);
                assert_eq!(store.commit(next).await, APPLIED);
                let found = row(&*store, "a").await;
                assert!(
                    found == Some((version as u64, value)),
                    "{from} to {to} bytes"
                );
            }
        }
    }
}

pub async fn keys_of_any_text_work(store: Arc<dyn Store>) {
    let texts = [
        "",
        " ",
        "a\u{0}b",
        "a\u{0}",
        "é",
        "e\u{301}",
        "日本",
        "😀",
        "%_'\"\\",
        "\u{10ffff}",
    ];
    let mut n = 0;
    for partition in texts {
        for sort in texts {
            n += 1;
            let mut write: Write = put(sort, Guard::Absent, n.to_string());
            write.key.partition = format!("keys/{partition}");
            assert_eq!(store.commit(commit(n, vec![write])).await, APPLIED);
        }
    }
    n = 0;
    for partition in texts {
        for sort in texts {
            n += 1;
            let key = Key::new(format!("keys/{partition}"), sort);
            let found = store.get(&key).await.expect("reads work").expect("a row");
            assert_eq!((found.key, found.value), (key, n.to_string().into_bytes()));
        }
    }
}

pub async fn many_rows_come_in_the_order_asked_for(store: Arc<dyn Store>) {
    let writes = ["a", "b", "c"]
        .map(|sort| put(sort, Guard::Absent, sort))
        .to_vec();
    assert_eq!(store.commit(commit(1, writes)).await, APPLIED);
    let keys = ["c", "x", "a", "c", "b"].map(|sort| Key::new("p", sort));
    let found = store.get_many(&keys).await.expect("reads work");
    let values: Vec<_> = found
        .iter()
        .map(|r| r.as_ref().map(|r| r.value.as_slice()))
        .collect();
    assert_eq!(
        values,
        [Some(&b"c"[..]), None, Some(b"a"), Some(b"c"), Some(b"b")]
    );
    assert_eq!(store.get_many(&[]).await, Ok(Vec::new()));
}
