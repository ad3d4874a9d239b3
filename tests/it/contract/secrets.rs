//! What every store of secrets promises, and what the local one does besides.

use rat_things::api::Secret;
use rat_things::backend::local::secrets::LocalSecrets;
use rat_things::backend::memory::secrets::MemorySecrets;
use rat_things::engine::ports::{BlobScope, SecretError, SecretRef, Secrets};

const VALUE: &str = "planted-value-4720 é\n";

fn scope(session: &str) -> BlobScope {
    BlobScope {
        owner: "owner".into(),
        session: session.into(),
    }
}

async fn stored(secrets: &dyn Secrets, session: &str) -> SecretRef {
    let put = secrets.put(&scope(session), &Secret::new(VALUE)).await;
    put.expect("stored")
}

async fn read(secrets: &dyn Secrets, session: &str, at: &SecretRef) -> Result<String, SecretError> {
    let value = secrets.get(&scope(session), at).await;
    value.map(|value| value.reveal().to_owned())
}

async fn a_value_is_read_where_it_was_stored_and_nowhere_else(secrets: &dyn Secrets) {
    let one = stored(secrets, "sess_a").await;
    let other = stored(secrets, "sess_a").await;
    assert_ne!(
        one, other,
        "a reference does not tell that values are the same"
    );
    for at in [&one, &other] {
        assert_eq!(read(secrets, "sess_a", at).await.as_deref(), Ok(VALUE));
        let elsewhere = read(secrets, "sess_b", at).await;
        assert!(
            matches!(elsewhere, Err(SecretError::Missing(_))),
            "{elsewhere:?}"
        );
    }
    let nothing = secrets.put(&scope("sess_a"), &Secret::new("")).await;
    let nothing = nothing.expect("stored");
    assert_eq!(read(secrets, "sess_a", &nothing).await.as_deref(), Ok(""));
}

async fn what_was_never_stored_is_missing(secrets: &dyn Secrets) {
    stored(secrets, "sess_a").await;
    for made_up in [
        "",
        "x",
        "../key",
        "secret-99",
        &format!("{}-9", "0".repeat(64)),
    ] {
        let found = read(secrets, "sess_a", &SecretRef(made_up.into())).await;
        assert!(
            matches!(found, Err(SecretError::Missing(_))),
            "{made_up:?}: {found:?}"
        );
    }
}

async fn a_scope_is_erased_whole_and_alone(secrets: &dyn Secrets) {
    let one = stored(secrets, "sess_a").await;
    let other = stored(secrets, "sess_b").await;
    for _ in 0..2 {
        secrets.erase(&scope("sess_a")).await.expect("erased");
        let gone = read(secrets, "sess_a", &one).await;
        assert!(matches!(gone, Err(SecretError::Missing(_))), "{gone:?}");
    }
    assert_eq!(read(secrets, "sess_b", &other).await.as_deref(), Ok(VALUE));
    let again = stored(secrets, "sess_a").await;
    assert_eq!(read(secrets, "sess_a", &again).await.as_deref(), Ok(VALUE));
}

fn tells_nothing(error: &SecretError) {
    let told = format!("{error} {error:?}");
    assert!(!told.contains("planted"), "{told}");
}

mod memory {
    use super::*;

    #[tokio::test]
    async fn a_value_is_read_where_it_was_stored_and_nowhere_else() {
        super::a_value_is_read_where_it_was_stored_and_nowhere_else(&MemorySecrets::new()).await;
    }

    #[tokio::test]
    async fn what_was_never_stored_is_missing() {
        super::what_was_never_stored_is_missing(&MemorySecrets::new()).await;
    }

    #[tokio::test]
    async fn a_scope_is_erased_whole_and_alone() {
        super::a_scope_is_erased_whole_and_alone(&MemorySecrets::new()).await;
    }

    #[tokio::test]
    async fn what_is_away_says_so() {
        let secrets = MemorySecrets::new();
        secrets.be_away(true);
        let put = secrets.put(&scope("sess_a"), &Secret::new(VALUE)).await;
        let error = put.expect_err("it is away");
        assert!(matches!(error, SecretError::Unavailable(_)), "{error:?}");
        tells_nothing(&error);
        secrets.be_away(false);
        assert_eq!(secrets.count(), 0);
    }
}

mod managed {
    use rat_things::backend::aws::client::{AwsClients, AwsOptions};
    use rat_things::backend::aws::secrets::ManagedSecrets;
    use rat_things::engine::ports::{SecretError, Secrets};

    use crate::aws::place;
    use crate::aws::stand::proxy::{Fault, Proxy, Rule};
    use crate::aws::stand::when::When;

    /// Values of a deployment that no other test has.
    fn secrets() -> ManagedSecrets {
        let place = place();
        ManagedSecrets::new(&place.clients, &place.places.table, &place.places.bucket)
    }

    #[tokio::test]
    async fn a_value_is_read_where_it_was_stored_and_nowhere_else() {
        super::a_value_is_read_where_it_was_stored_and_nowhere_else(&secrets()).await;
    }

    #[tokio::test]
    async fn what_was_never_stored_is_missing() {
        super::what_was_never_stored_is_missing(&secrets()).await;
    }

    #[tokio::test]
    async fn a_scope_is_erased_whole_and_alone() {
        super::a_scope_is_erased_whole_and_alone(&secrets()).await;
    }

    /// Secrets Manager lists a new value minutes later.
    #[tokio::test]
    async fn a_value_that_is_not_listed_yet_is_erased_all_the_same() {
        let place = place();
        let nothing = Rule {
            operation: "ListSecrets",
            when: When::Every,
            fault: Fault::Says(r#"{"SecretList":[]}"#),
        };
        let proxy = Proxy::before(place.others, vec![nothing]).expect("a port");
        let options = AwsOptions {
            endpoint_url: Some(proxy.url()),
            ..place.options.clone()
        };
        let clients = AwsClients::connect(&options).await.expect("a region");
        let places = &place.places;
        let secrets = ManagedSecrets::new(&clients, &places.table, &places.bucket);
        let at = super::stored(&secrets, "sess_a").await;
        let kept = super::stored(&secrets, "sess_b").await;
        secrets
            .erase(&super::scope("sess_a"))
            .await
            .expect("erased");
        assert_eq!(proxy.applied(), [1]);
        let gone = super::read(&secrets, "sess_a", &at).await;
        assert!(matches!(gone, Err(SecretError::Missing(_))), "{gone:?}");
        let kept = super::read(&secrets, "sess_b", &kept).await;
        assert_eq!(kept.as_deref(), Ok(super::VALUE));
        let marks = clients.s3().list_objects_v2().bucket(&places.bucket);
        let marks = marks.send().await.expect("a list");
        assert_eq!(marks.contents().len(), 1, "{marks:?}");
    }
}

mod local {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::path::{Path, PathBuf};

    use pretty_assertions::assert_eq;
    use rat_things::backend::local::secrets::key_path;
    use rat_things::engine::ports::StoreFault;
    use tempfile::TempDir;

    use super::*;

    fn place() -> (TempDir, LocalSecrets) {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let secrets = LocalSecrets::new(dir.path().join("secrets"));
        (dir, secrets)
    }

    fn key(dir: &TempDir) -> PathBuf {
        key_path(&dir.path().join("secrets"))
    }

    /// Every file below, with its content.
    fn files(dir: &Path) -> Vec<(PathBuf, Vec<u8>)> {
        let mut found = Vec::new();
        for entry in fs::read_dir(dir).expect("lists") {
            let path = entry.expect("an entry").path();
            match path.is_dir() {
                true => found.extend(files(&path)),
                false => found.push((path.clone(), fs::read(&path).expect("reads"))),
            }
        }
        found
    }

    #[tokio::test]
    async fn a_value_is_read_where_it_was_stored_and_nowhere_else() {
        let (_dir, secrets) = place();
        super::a_value_is_read_where_it_was_stored_and_nowhere_else(&secrets).await;
    }

    #[tokio::test]
    async fn what_was_never_stored_is_missing() {
        let (_dir, secrets) = place();
        super::what_was_never_stored_is_missing(&secrets).await;
    }

    #[tokio::test]
    async fn a_scope_is_erased_whole_and_alone() {
        let (dir, secrets) = place();
        super::a_scope_is_erased_whole_and_alone(&secrets).await;
        secrets.erase(&scope("sess_a")).await.expect("erased");
        secrets.erase(&scope("sess_b")).await.expect("erased");
        let left: Vec<_> = files(dir.path())
            .into_iter()
            .map(|(path, _)| path)
            .collect();
        assert_eq!(left, [key(&dir)]);
    }

    #[tokio::test]
    async fn another_process_reads_it_and_no_file_shows_it() {
        let (dir, secrets) = place();
        let at = stored(&secrets, "sess_a").await;
        let other = LocalSecrets::new(dir.path().join("secrets"));
        assert_eq!(read(&other, "sess_a", &at).await.as_deref(), Ok(VALUE));
        let stored = files(dir.path());
        assert_eq!(stored.len(), 2, "the value and the key");
        for (path, content) in stored {
            let mode = fs::metadata(&path).expect("is there").permissions().mode();
            assert_eq!(mode & 0o777, 0o600, "{}", path.display());
            let text = String::from_utf8_lossy(&content);
            assert!(!text.contains("planted"), "{}", path.display());
        }
    }

    #[tokio::test]
    async fn whoever_begins_at_the_same_time_has_the_same_key() {
        for _ in 0..20 {
            let dir = tempfile::tempdir().expect("a temporary directory");
            let all: Vec<_> = (0..8)
                .map(|_| LocalSecrets::new(dir.path().join("secrets")))
                .collect();
            let puts = all.iter().map(|secrets| stored(secrets, "sess_a"));
            let refs = futures_util::future::join_all(puts).await;
            for (secrets, at) in all.iter().rev().zip(&refs) {
                assert_eq!(read(secrets, "sess_a", at).await.as_deref(), Ok(VALUE));
            }
        }
    }

    #[tokio::test]
    async fn a_sealed_value_that_was_moved_or_changed_does_not_open() {
        let (dir, secrets) = place();
        let at = stored(&secrets, "sess_a").await;
        let sealed = dir.path().join("secrets/sealed/owner");
        let copy = std::process::Command::new("cp")
            .args(["-r", "sess_a", "sess_b"])
            .current_dir(&sealed)
            .status();
        assert!(copy.expect("cp runs").success());
        let moved = read(&secrets, "sess_b", &at).await;
        assert_eq!(moved, Err(SecretError::Sealed(at.0.clone())));
        let (file, mut content) = files(&sealed.join("sess_a")).remove(0);
        *content.last_mut().expect("it is not empty") ^= 1;
        fs::write(file, content).expect("writes");
        let changed = read(&secrets, "sess_a", &at).await;
        let error = changed.expect_err("it was changed");
        assert!(matches!(error, SecretError::Sealed(_)), "{error:?}");
        tells_nothing(&error);
    }

    #[tokio::test]
    async fn a_key_that_is_gone_short_or_open_to_others_is_named_and_never_replaced() {
        let (dir, secrets) = place();
        let at = stored(&secrets, "sess_a").await;
        let path = key(&dir);
        let right = fs::read(&path).expect("reads");
        let anew = || LocalSecrets::new(dir.path().join("secrets"));
        let fault = async |get: bool| {
            let secrets = anew();
            let error = match get {
                true => read(&secrets, "sess_a", &at).await.map(drop),
                false => secrets
                    .put(&scope("sess_a"), &Secret::new("x"))
                    .await
                    .map(drop),
            };
            match error {
                Err(SecretError::Broken { fault, message }) => {
                    assert!(message.contains("/secrets/key"), "{message}");
                    fault
                }
                other => panic!("{other:?}"),
            }
        };
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).expect("is ours");
        assert_eq!(fault(true).await, StoreFault::ReadOnly);
        assert_eq!(fault(false).await, StoreFault::ReadOnly);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("is ours");
        fs::write(&path, &right[..31]).expect("writes");
        assert_eq!(fault(true).await, StoreFault::Corrupt);
        assert_eq!(fault(false).await, StoreFault::Corrupt);
        fs::remove_file(&path).expect("removes");
        assert_eq!(fault(true).await, StoreFault::Corrupt);
        assert!(!path.exists(), "reading makes no key");
        // Another key opens nothing.
        stored(&anew(), "sess_b").await;
        let found = read(&anew(), "sess_a", &at).await;
        assert_eq!(found, Err(SecretError::Sealed(at.0.clone())));
        fs::write(&path, right).expect("writes");
        assert_eq!(read(&anew(), "sess_a", &at).await.as_deref(), Ok(VALUE));
    }
}
