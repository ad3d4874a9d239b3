//! Access keys: how a caller that is not on this machine's terminal proves who it is.
//!
//! A key is 32 random bytes, shown once. What is stored is its digest: under the digest itself, to find whose it is, and in the
//! owner's list. A key carries no name of an owner, so nothing in a request can choose one (I3): the owner is what the digest
//! leads to. Surprising: an expired key stays listed until it is revoked, so that somebody who wonders why it stopped can see it.

use serde::{Deserialize, Serialize};

use super::core::{Core, decode, encode};
use super::error::EngineError;
use super::ids::{self, Kind, sha256_hex};
use super::keys;
use super::ports::{Change, Commit, CommitId, Guard, Key, Range, Write};
use super::scope::Scopes;

/// What every key begins with, so that a leaked one is recognised for what it is.
const PREFIX: &str = "rtk_";
/// Random bytes of a key.
const KEY_BYTES: usize = 32;
/// Keys that one owner may have.
pub const MAX_KEYS: usize = 256;
/// Longest body of a request, whatever a key says.
pub const MAX_BODY_BYTES: u64 = 16 << 20;

/// In the owner's partition, `key/<id>`: a key without what proves it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccessKey {
    /// `key_…`
    pub id: String,
    /// What its maker calls it.
    pub name: String,
    /// Of the key's text. Lower-case hex.
    pub digest: String,
    /// Unix ms.
    pub created_ms: u64,
    /// From then on it opens nothing. Unix ms; `None`: never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_ms: Option<u64>,
    /// What it may be used for. Keys of old have no list, and every scope.
    #[serde(default, skip_serializing_if = "Scopes::are_all")]
    pub scopes: Scopes,
    /// How much it may be used.
    #[serde(flatten)]
    pub limits: KeyLimits,
}

/// How much a key may be used. What is `None` is as the server says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyLimits {
    /// Requests a second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests_per_second: Option<u32>,
    /// Longest body of a request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body_bytes: Option<u64>,
}

/// What a key is to be like.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewKey {
    /// What its maker calls it.
    pub name: String,
    /// It opens nothing any more after so long; `None`: it does not expire.
    pub lifetime_ms: Option<u64>,
    /// What it may be used for.
    pub scopes: Scopes,
    /// How much.
    pub limits: KeyLimits,
}

impl NewKey {
    /// One that never expires, and may be used for everything.
    pub fn named(name: impl Into<String>) -> NewKey {
        NewKey {
            name: name.into(),
            ..NewKey::default()
        }
    }
}

impl AccessKey {
    /// Whether it has expired by `now_ms`.
    pub fn is_expired(&self, now_ms: u64) -> bool {
        self.expires_ms.is_some_and(|expires| expires <= now_ms)
    }
}

/// Row `key` of the partition that is named by a digest: whose key it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyHolder {
    /// Owner namespace.
    pub owner: String,
    /// The key's id.
    pub id: String,
    /// The digest again, to compare in constant time.
    pub digest: String,
}

/// Who a key belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bearer {
    /// Owner namespace.
    pub owner: String,
    /// The key's id.
    pub key: String,
    /// Digest of the key, for asking again later.
    pub digest: String,
    /// What it may be used for.
    pub scopes: Scopes,
    /// How much.
    pub limits: KeyLimits,
}

impl Core {
    /// Makes a key of this owner; answers its record and the key itself, which nothing can show again.
    ///
    /// # Errors
    /// [`EngineError::Conflict`] when the owner has [`MAX_KEYS`] already.
    pub async fn create_key(
        &self,
        owner: &str,
        new: NewKey,
    ) -> Result<(AccessKey, String), EngineError> {
        if self.list_keys(owner).await?.len() >= MAX_KEYS {
            let message = format!("there are {MAX_KEYS} keys already; revoke one first");
            return Err(EngineError::Conflict(message));
        }
        let mut bytes = [0; KEY_BYTES];
        self.ids.fill(&mut bytes);
        let text = format!("{PREFIX}{}", data_encoding::BASE64URL_NOPAD.encode(&bytes));
        let now_ms = self.clock.now_ms();
        let key = AccessKey {
            id: ids::random(Kind::AccessKey, &*self.ids),
            name: new.name,
            digest: digest_of(&text),
            created_ms: now_ms,
            expires_ms: new.lifetime_ms.map(|ms| now_ms.saturating_add(ms)),
            scopes: new.scopes,
            limits: new.limits,
        };
        let holder = KeyHolder {
            owner: owner.to_owned(),
            id: key.id.clone(),
            digest: key.digest.clone(),
        };
        let writes = vec![
            self.owner_write(
                owner,
                keys::access_key(&key.id),
                Guard::Absent,
                Change::Put(encode(&key)),
            ),
            Write {
                key: keys::key_holder(&key.digest),
                guard: Guard::Absent,
                change: Change::Put(encode(&holder)),
            },
        ];
        self.commit_once(Commit {
            id: CommitId::random(&*self.ids),
            writes: writes.into(),
        })
        .await?;
        Ok((key, text))
    }

    /// An owner's keys, in no order that means anything.
    pub async fn list_keys(&self, owner: &str) -> Result<Vec<AccessKey>, EngineError> {
        let prefix = keys::access_key("");
        let range = Range::prefix(keys::owner_partition(owner), &prefix, 2 * MAX_KEYS);
        let page = self.store.range(&range).await?;
        page.records.iter().map(decode).collect()
    }

    /// Takes a key's power away, at once and for good.
    pub async fn revoke_key(&self, owner: &str, id: &str) -> Result<AccessKey, EngineError> {
        let at = Key::new(keys::owner_partition(owner), keys::access_key(id));
        let record = self.store.get(&at).await?;
        let record = record.ok_or_else(|| EngineError::not_found("key", id))?;
        let key: AccessKey = decode(&record)?;
        let writes = [at, keys::key_holder(&key.digest)].map(|key| Write {
            key,
            guard: Guard::Any,
            change: Change::Delete,
        });
        self.commit_once(Commit {
            id: CommitId::random(&*self.ids),
            writes: Vec::from(writes).into(),
        })
        .await?;
        Ok(key)
    }

    /// Whose key this text is; `None` for anything that is no key, no key any more, or expired. They are not told apart.
    ///
    /// How long the look-up takes says nothing that helps to guess a key: what is looked up is the digest, of which whoever guesses
    /// chooses no byte. That two texts have digests with a common beginning says nothing about the texts.
    pub async fn bearer(&self, text: &str) -> Result<Option<Bearer>, EngineError> {
        self.bearer_of(&digest_of(text)).await
    }

    /// The same by the key's digest, for who asked before.
    pub async fn bearer_of(&self, digest: &str) -> Result<Option<Bearer>, EngineError> {
        let Some(record) = self.store.get(&keys::key_holder(digest)).await? else {
            return Ok(None);
        };
        let holder: KeyHolder = decode(&record)?;
        let at = Key::new(
            keys::owner_partition(&holder.owner),
            keys::access_key(&holder.id),
        );
        let Some(record) = self.store.get(&at).await? else {
            return Ok(None);
        };
        let key: AccessKey = decode(&record)?;
        let is_it = same(&holder.digest, digest) & same(&key.digest, digest);
        let is_good = is_it && !key.is_expired(self.clock.now_ms());
        Ok(is_good.then_some(Bearer {
            owner: holder.owner,
            key: key.id,
            digest: key.digest,
            scopes: key.scopes,
            limits: key.limits,
        }))
    }
}

fn digest_of(text: &str) -> String {
    sha256_hex(format!("rat-things/access-key/1\0{text}").as_bytes())
}

/// Equality in a time that depends on lengths alone.
fn same(a: &str, b: &str) -> bool {
    let differs = a.bytes().zip(b.bytes()).fold(0, |d, (a, b)| d | (a ^ b));
    (a.len() == b.len()) & (differs == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_the_same_only_if_every_byte_is() {
        for (a, b, expected) in [
            ("", "", true),
            ("ab", "ab", true),
            ("ab", "ac", false),
            ("ab", "abc", false),
            ("", "a", false),
        ] {
            assert_eq!(same(a, b), expected, "{a:?} {b:?}");
        }
    }

    #[test]
    fn a_key_expires_at_its_time() {
        let mut key = AccessKey {
            id: "key_a".into(),
            name: "n".into(),
            digest: "d".into(),
            created_ms: 1,
            expires_ms: None,
            scopes: Scopes::All,
            limits: KeyLimits::default(),
        };
        assert!(!key.is_expired(u64::MAX));
        key.expires_ms = Some(10);
        assert_eq!((key.is_expired(9), key.is_expired(10)), (false, true));
    }
}
