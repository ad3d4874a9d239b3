//! What is true of files only: where they lie, what a crash leaves, what other processes do meanwhile.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::time::Duration;

use super::*;

struct World {
    _dir: tempfile::TempDir,
    root: PathBuf,
    blobs: LocalBlobs,
    scope: BlobScope,
}

fn world() -> World {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let root = dir.path().join("blobs");
    World {
        _dir: dir,
        blobs: LocalBlobs::new(&root),
        root,
        scope: BlobScope {
            owner: "owner".to_owned(),
            session: "sess_a".to_owned(),
        },
    }
}

impl World {
    async fn put(&self, bytes: &'static [u8]) -> Result<BlobRef, BlobError> {
        let source = BlobSource::Bytes(Bytes::from_static(bytes));
        self.blobs.put(&self.scope, source).await
    }

    fn file(&self, blob: &BlobRef) -> PathBuf {
        self.root
            .join("owner/sess_a")
            .join(&blob.sha256[..2])
            .join(&blob.sha256)
    }

    fn names(&self, dir: &str) -> Vec<String> {
        let entries = fs::read_dir(self.root.join(dir)).into_iter().flatten();
        entries
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .collect()
    }
}

#[tokio::test]
async fn files_are_for_their_owner_alone_and_nothing_is_left_beside_them() {
    let world = world();
    let blob = world.put(b"hello").await.expect("put");
    let file = world.file(&blob);
    let mode = |path: &Path| fs::metadata(path).expect("is there").permissions().mode() & 0o777;
    assert_eq!(mode(&file), 0o600);
    for dir in file.ancestors().skip(1).take(4) {
        assert_eq!(mode(dir), 0o700, "{}", dir.display());
    }
    assert!(world.names(".tmp").is_empty());
}

#[tokio::test]
async fn bytes_that_are_there_are_not_written_again() {
    let world = world();
    let blob = world.put(b"hello").await.expect("put");
    let before = fs::metadata(world.file(&blob)).expect("is there");
    for blobs in [world.blobs.clone(), LocalBlobs::new(&world.root)] {
        let source = BlobSource::Stream {
            from: Box::new(&b"hello"[..]),
            limit_bytes: 5,
        };
        blobs.put(&world.scope, source).await.expect("put");
    }
    let after = fs::metadata(world.file(&blob)).expect("is there");
    assert_eq!(
        (before.ino(), before.mtime_nsec()),
        (after.ino(), after.mtime_nsec())
    );
}

#[tokio::test]
async fn damage_is_reported_and_kept() {
    let world = world();
    let blob = world.put(b"hello").await.expect("put");
    fs::write(world.file(&blob), b"hellO").expect("damages it");
    let corrupt = BlobError::Corrupt(blob.sha256.clone());
    assert_eq!(world.blobs.get(&world.scope, &blob).await, Err(corrupt));
    let mut stream = world
        .blobs
        .open(&world.scope, &blob, 0)
        .await
        .expect("opens");
    let error = stream
        .read_to_end(&mut Vec::new())
        .await
        .expect_err("damaged");
    assert_eq!(error.kind(), io::ErrorKind::InvalidData);
    assert_eq!(fs::read(world.file(&blob)).expect("is there"), b"hellO");
}

#[tokio::test]
async fn a_file_cut_short_is_set_aside_and_stored_anew() {
    let world = world();
    let blob = world.put(b"hello").await.expect("put");
    fs::write(world.file(&blob), b"he").expect("damages it");
    assert_eq!(world.blobs.has(&world.scope, &blob).await, Ok(false));
    assert_eq!(world.put(b"hello").await, Ok(blob.clone()));
    assert_eq!(
        world.blobs.get(&world.scope, &blob).await,
        Ok("hello".into())
    );
    assert_eq!(world.names(".damaged").len(), 1);
}

#[tokio::test]
async fn links_are_not_followed() {
    let world = world();
    let blob = world.put(b"hello").await.expect("put");
    let outside = world.root.join("outside");
    fs::rename(world.file(&blob), &outside).expect("moves");
    std::os::unix::fs::symlink(&outside, world.file(&blob)).expect("links");
    assert!(matches!(
        world.blobs.get(&world.scope, &blob).await,
        Err(BlobError::Broken { .. })
    ));
}

#[tokio::test]
async fn scopes_that_are_not_plain_names_are_refused_by_every_call() {
    let world = world();
    let bad = BlobScope {
        owner: "..".to_owned(),
        session: "sess_a".to_owned(),
    };
    let blob = world.put(b"hello").await.expect("put");
    let blobs = &world.blobs;
    let source = BlobSource::Bytes(Bytes::new());
    assert!(matches!(
        blobs.put(&bad, source).await,
        Err(BlobError::Invalid(_))
    ));
    assert!(matches!(
        blobs.get(&bad, &blob).await,
        Err(BlobError::Invalid(_))
    ));
    assert!(matches!(
        blobs.has(&bad, &blob).await,
        Err(BlobError::Invalid(_))
    ));
    assert!(matches!(
        blobs.open(&bad, &blob, 0).await,
        Err(BlobError::Invalid(_))
    ));
    assert!(matches!(
        blobs.delete_scope(&bad).await,
        Err(BlobError::Invalid(_))
    ));
}

#[tokio::test]
async fn a_put_that_is_given_up_leaves_nothing() {
    let world = world();
    // The source never ends: the put hangs after its first steps.
    let (mut feed, from) = tokio::io::duplex(1 << 20);
    let source = BlobSource::Stream {
        from: Box::new(from),
        limit_bytes: 1 << 30,
    };
    let put = world.blobs.put(&world.scope, source);
    let write = async {
        tokio::io::AsyncWriteExt::write_all(&mut feed, &vec![1; 600_000])
            .await
            .expect("writes");
        while world.names(".tmp").is_empty() {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        _ = put => panic!("the source has not ended"),
        () = write => {}
    }
    // A step that was on its way may still hold the file for a moment.
    tokio::time::timeout(Duration::from_secs(20), async {
        while !world.names(".tmp").is_empty() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    })
    .await
    .expect("the temporary file goes away");
}

#[tokio::test]
async fn an_interrupted_removal_is_finished_by_the_next_one_or_by_the_sweep() {
    let world = world();
    for resume in ["delete", "sweep"] {
        let blob = world.put(b"hello").await.expect("put");
        fs::create_dir_all(world.root.join(".trash")).expect("makes it");
        // As after a crash between the rename and the removal.
        fs::rename(
            world.root.join("owner/sess_a"),
            world.root.join(".trash/owner.sess_a.0123"),
        )
        .expect("moves");
        fs::create_dir_all(world.root.join(".trash/owner.sess_ab.0123")).expect("makes it");
        assert_eq!(world.blobs.has(&world.scope, &blob).await, Ok(false));
        if resume == "delete" {
            world
                .blobs
                .delete_scope(&world.scope)
                .await
                .expect("deletes");
            assert_eq!(world.names(".trash"), ["owner.sess_ab.0123"]);
        } else {
            let swept = world.blobs.sweep_temp(0, 0).await.expect("sweeps");
            assert_eq!(swept.scopes, 2);
            assert!(world.names(".trash").is_empty());
        }
    }
}

#[tokio::test]
async fn the_sweep_removes_old_leftovers_and_spares_fresh_ones() {
    let world = world();
    assert_eq!(world.blobs.sweep_temp(0, 0).await, Ok(Swept::default()));
    world.put(b"hello").await.expect("put");
    let left = world.root.join(".tmp/left");
    fs::write(&left, b"torn").expect("writes");
    let written = fs::metadata(&left).and_then(|meta| meta.modified());
    let written_ms = written
        .expect("has a time")
        .duration_since(std::time::UNIX_EPOCH)
        .expect("after 1970")
        .as_millis() as u64;
    let hour_ms = 3_600_000;
    let sweep = |now_ms| world.blobs.sweep_temp(now_ms, hour_ms);
    assert_eq!(sweep(written_ms + hour_ms - 1).await, Ok(Swept::default()));
    let swept = sweep(written_ms + hour_ms).await.expect("sweeps");
    assert_eq!((swept.temp_files, swept.temp_bytes), (1, 4));
    assert!(!left.exists());
}

#[tokio::test]
async fn a_scope_that_another_process_deletes_meanwhile_is_made_again() {
    let world = world();
    let other = LocalBlobs::new(&world.root);
    for _ in 0..200 {
        let (stored, deleted) = tokio::join!(world.put(b"hello"), other.delete_scope(&world.scope));
        deleted.expect("deletes");
        stored.expect("stores, before or after");
    }
    let blob = world.put(b"hello").await.expect("put");
    assert_eq!(
        world.blobs.get(&world.scope, &blob).await,
        Ok("hello".into())
    );
}

#[tokio::test]
async fn a_root_that_can_not_be_made_calls_for_an_operator() {
    let world = world();
    fs::write(&world.root, b"a file in its place").expect("writes");
    assert!(matches!(
        world.put(b"hello").await,
        Err(BlobError::Broken {
            fault: crate::engine::ports::StoreFault::Replaced,
            ..
        })
    ));
}
