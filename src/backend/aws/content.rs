//! Content of rows, kept in S3: what the rows of one commit hold is one object, whose name is its digest.
//!
//! An object is stored before the commit that names it, so that no row points at bytes that are not there. What a commit that failed
//! left is an object without a row, which does no harm. It is a store of bytes by digest as the Blobs port is one; what
//! differs is that many rows share an object, and that what was read or written lately is kept in memory.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use aws_sdk_s3::primitives::ByteStream;
use bytes::Bytes;
use futures_util::StreamExt;
use sha2::{Digest, Sha256};

use super::calls::{Purpose, for_purpose};
use super::fault::Fault;
use crate::backend::local::clock::SystemClock;
use crate::engine::keys;
use crate::engine::ports::{Clock, Key};

/// The widest value that stays in the table in any case, in bytes: an item holds 400 KB, and a commit 4 MB.
const WIDEST_HERE_BYTES: usize = 64 << 10;
/// Bytes of objects that are remembered.
const REMEMBERED_BYTES: usize = 32 << 20;
/// An object that was stored so long ago is stored anew. What is left over is removed much later.
const OLD_MS: u64 = 6 * 3_600_000;
/// Objects that are fetched at the same time.
const FETCHED_AT_ONCE: usize = 16;

/// Where a value is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// Digest of the whole object, in lower-case hexadecimal.
    pub(super) object: String,
    /// First byte of the value in it.
    pub(super) from_byte: u64,
    /// Bytes of the value.
    pub(super) size_bytes: u64,
}

/// Whether a row is kept in S3. What an agent or a person wrote is; what says who may do what, and where things are, is not.
pub(super) fn is_content(key: &Key, size_bytes: usize) -> bool {
    let kind = key.sort.split('/').next().unwrap_or_default();
    let content = match key.partition.split_once('/') {
        Some(("S", _)) => !matches!(
            kind,
            keys::HEAD
                | keys::IMPORT
                | keys::CHECKPOINT
                | "turn"
                | "end"
                | "receipt"
                | "journal"
                | "run"
                | "artifact"
                | "delivery"
                | "owed"
        ),
        Some(("O", _)) => matches!(kind, "agent" | "template" | "vault" | "credential"),
        _ => false,
    };
    content || size_bytes > WIDEST_HERE_BYTES
}

/// Where the objects of a partition are. Names of the engine are plain; any other is spelt out.
pub(super) fn prefix(partition: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/_-".contains(&byte);
    match partition.bytes().all(plain) {
        true => format!("rows/{partition}/"),
        false => format!(
            "rows/x/{}/",
            data_encoding::HEXLOWER.encode(partition.as_bytes())
        ),
    }
}

/// What the names of all objects with content begin with.
pub(super) const ALL: &str = "rows/";

/// The partition and the digest of an object with content, by its name.
pub(super) fn parse(name: &str) -> Option<(String, String)> {
    let (place, digest) = name.strip_prefix(ALL)?.rsplit_once('/')?;
    let is_digest = digest.len() == 64 && digest.bytes().all(|byte| byte.is_ascii_hexdigit());
    let partition = match place.strip_prefix("x/") {
        Some(spelt) => {
            let bytes = data_encoding::HEXLOWER.decode(spelt.as_bytes()).ok()?;
            String::from_utf8(bytes).ok()?
        }
        None => place.to_owned(),
    };
    is_digest.then(|| (partition, digest.to_owned()))
}

/// Why content could not be stored or read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum ContentError {
    /// AWS did not do it.
    #[error(transparent)]
    Fault(#[from] Fault),
    /// What the table names is not there.
    #[error("no object {0}")]
    Missing(String),
    /// It does not have its digest, or is too short.
    #[error("the object {0} is damaged")]
    Corrupt(String),
}

/// The content of rows. Cheap to clone.
#[derive(Clone)]
pub(super) struct Content {
    s3: aws_sdk_s3::Client,
    bucket: Arc<str>,
    kms_key: Option<Arc<str>>,
    memory: Arc<Mutex<Memory>>,
}

impl Content {
    pub(super) fn new(s3: aws_sdk_s3::Client, bucket: &str, kms_key: Option<&str>) -> Content {
        Content {
            s3,
            bucket: bucket.into(),
            kms_key: kms_key.map(Into::into),
            memory: Arc::default(),
        }
    }

    /// Stores these values of one partition in one object, and says where each is.
    pub(super) async fn put(
        &self,
        partition: &str,
        values: &[&Vec<u8>],
    ) -> Result<Vec<Place>, ContentError> {
        let bytes = Bytes::from(
            values
                .iter()
                .flat_map(|v| v.iter().copied())
                .collect::<Vec<u8>>(),
        );
        let digest = Sha256::digest(&bytes);
        let object = data_encoding::HEXLOWER.encode(&digest);
        let name = format!("{}{object}", prefix(partition));
        match self.store(&name, &digest, &bytes, true).await {
            Ok(()) => {}
            // The same bytes are there; what is old may be about to be taken for left over, and is stored anew.
            Err(fault) if fault.is("PreconditionFailed") => {
                if self.is_old(&name).await? {
                    self.store(&name, &digest, &bytes, false).await?;
                }
            }
            // Somebody else is storing them now, who may fail: nothing is promised, and the caller comes again.
            Err(fault) if fault.is("ConditionalRequestConflict") => {
                return Err(Fault::Throttled(fault.to_string()).into());
            }
            Err(fault) => return Err(fault.into()),
        }
        self.remember(name, bytes);
        let mut from_byte = 0;
        let places = values.iter().map(|value| {
            let size_bytes = value.len() as u64;
            let place = Place {
                object: object.clone(),
                from_byte,
                size_bytes,
            };
            from_byte += size_bytes;
            place
        });
        Ok(places.collect())
    }

    async fn store(
        &self,
        name: &str,
        digest: &[u8],
        bytes: &Bytes,
        only_if_absent: bool,
    ) -> Result<(), Fault> {
        let mut put = self
            .s3
            .put_object()
            .bucket(&*self.bucket)
            .key(name)
            .set_if_none_match(only_if_absent.then(|| "*".to_owned()))
            .checksum_sha256(data_encoding::BASE64.encode(digest))
            .body(ByteStream::from(bytes.clone()));
        if let Some(key) = &self.kms_key {
            put = put
                .server_side_encryption(aws_sdk_s3::types::ServerSideEncryption::AwsKms)
                .ssekms_key_id(&**key)
                .bucket_key_enabled(true);
        }
        let stored = for_purpose(Purpose::Content, put.send()).await;
        stored.map(drop).map_err(|error| Fault::of(&error))
    }

    /// Whether an object was stored so long ago that it may be taken for left over, or is gone.
    async fn is_old(&self, name: &str) -> Result<bool, Fault> {
        let head = self.s3.head_object().bucket(&*self.bucket).key(name).send();
        let head = match for_purpose(Purpose::Content, head).await {
            Ok(head) => head,
            Err(error) => match Fault::of(&error) {
                fault if fault.is("NotFound") || fault.is("404") => return Ok(true),
                fault => return Err(fault),
            },
        };
        let stored_ms = head.last_modified().and_then(|at| at.to_millis().ok());
        let stored_ms = stored_ms.and_then(|ms| u64::try_from(ms).ok());
        Ok(stored_ms.is_none_or(|ms| ms + OLD_MS < SystemClock.now_ms()))
    }

    /// Reads values, each of a partition; each object is fetched once.
    pub(super) async fn get(
        &self,
        wanted: &[(&str, &Place)],
    ) -> Result<Vec<Vec<u8>>, ContentError> {
        let named = |(partition, place): &(&str, &Place)| {
            (
                format!("{}{}", prefix(partition), place.object),
                place.object.clone(),
            )
        };
        let mut objects: HashMap<String, Bytes> = HashMap::new();
        let mut absent = BTreeSet::new();
        for (name, digest) in wanted.iter().map(named) {
            match self.remembered(&name) {
                Some(bytes) => drop(objects.insert(name, bytes)),
                None => drop(absent.insert((name, digest))),
            }
        }
        let fetches = absent.into_iter().map(|(name, digest)| async move {
            let bytes = self.fetch(&name, &digest).await?;
            Ok::<_, ContentError>((name, bytes))
        });
        let mut fetches = futures_util::stream::iter(fetches).buffer_unordered(FETCHED_AT_ONCE);
        while let Some(fetched) = fetches.next().await {
            let (name, bytes) = fetched?;
            self.remember(name.clone(), bytes.clone());
            objects.insert(name, bytes);
        }
        let cut = |at: &(&str, &Place)| {
            let (name, digest) = named(at);
            let bytes = objects.get(&name).and_then(|bytes| part(bytes, at.1));
            bytes.ok_or(ContentError::Corrupt(digest))
        };
        wanted.iter().map(cut).collect()
    }

    async fn fetch(&self, name: &str, digest: &str) -> Result<Bytes, ContentError> {
        let request = self.s3.get_object().bucket(&*self.bucket).key(name);
        let found = for_purpose(Purpose::Content, request.send()).await;
        let found = found.map_err(|error| match Fault::of(&error) {
            fault if fault.is("NoSuchKey") => ContentError::Missing(name.to_owned()),
            fault => fault.into(),
        })?;
        let bytes = found.body.collect().await;
        let bytes = bytes.map_err(|error| Fault::Unreachable(error.to_string()))?;
        let bytes = bytes.into_bytes();
        match data_encoding::HEXLOWER.encode(&Sha256::digest(&bytes)) == digest {
            true => Ok(bytes),
            false => Err(ContentError::Corrupt(name.to_owned())),
        }
    }

    fn remembered(&self, name: &str) -> Option<Bytes> {
        let memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        memory.objects.get(name).cloned()
    }

    fn remember(&self, name: String, bytes: Bytes) {
        let mut memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        memory.add(name, bytes, REMEMBERED_BYTES);
    }
}

fn part(bytes: &Bytes, place: &Place) -> Option<Vec<u8>> {
    let from = usize::try_from(place.from_byte).ok()?;
    let size = usize::try_from(place.size_bytes).ok()?;
    Some(bytes.get(from..from.checked_add(size)?)?.to_vec())
}

/// Objects that were read or written lately. What came first goes first.
#[derive(Default)]
struct Memory {
    objects: HashMap<String, Bytes>,
    order: VecDeque<String>,
    size_bytes: usize,
}

impl Memory {
    fn add(&mut self, name: String, bytes: Bytes, most_bytes: usize) {
        if bytes.len() > most_bytes / 4 || self.objects.contains_key(&name) {
            return;
        }
        self.size_bytes += bytes.len();
        self.order.push_back(name.clone());
        self.objects.insert(name, bytes);
        while self.size_bytes > most_bytes
            && let Some(oldest) = self.order.pop_front()
        {
            let gone = self.objects.remove(&oldest).unwrap_or_default();
            self.size_bytes -= gone.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_content_and_what_decides_is_not() {
        let content = |partition: &str, sort: &str| is_content(&Key::new(partition, sort), 10);
        for sort in [
            "input/0000000001",
            "item/0000000001",
            keys::CONFIG,
            "of/a/later/version",
        ] {
            assert!(content("S/sess_a", sort), "{sort}");
        }
        for sort in [
            keys::HEAD,
            "receipt/ab",
            "journal/000000000001",
            "turn/0000000001",
        ] {
            assert!(!content("S/sess_a", sort), "{sort}");
        }
        assert!(content("O/owner", "agent/agent_a"));
        assert!(!content("O/owner", "agents/000000000000001/agent_a"));
        assert!(!content("A/execute/0", "000000000000001/sess_a"));
        assert!(is_content(
            &Key::new("A/execute/0", "a"),
            WIDEST_HERE_BYTES + 1
        ));
    }

    #[test]
    fn objects_of_partitions_never_share_a_name() {
        let partitions = ["S/sess_a", "O/sess_a", "keys/é", "keys/ ", "x"];
        let prefixes: BTreeSet<String> = partitions.iter().map(|name| prefix(name)).collect();
        assert_eq!(prefixes.len(), partitions.len());
    }

    #[test]
    fn the_name_of_an_object_leads_back_to_its_partition() {
        let digest = "ab".repeat(32);
        for partition in ["S/sess_a", "O/sess_a", "keys/é", "keys/ ", "x"] {
            let name = format!("{}{digest}", prefix(partition));
            assert_eq!(parse(&name), Some((partition.to_owned(), digest.clone())));
        }
        assert_eq!(parse(&format!("blobs/a/b/{digest}")), None);
        assert_eq!(parse("rows/S/sess_a/readme"), None);
    }

    #[test]
    fn memory_is_bounded_and_forgets_what_came_first() {
        let mut memory = Memory::default();
        for n in 0..10 {
            memory.add(n.to_string(), Bytes::from(vec![0; 20]), 100);
        }
        assert_eq!(memory.size_bytes, 100);
        assert!(memory.objects.contains_key("9") && !memory.objects.contains_key("4"));
        memory.add("huge".to_owned(), Bytes::from(vec![0; 26]), 100);
        assert!(!memory.objects.contains_key("huge"));
    }

    #[test]
    fn a_part_that_is_not_there_is_none() {
        let bytes = Bytes::from_static(b"abcdef");
        let place = |from_byte, size_bytes| Place {
            object: String::new(),
            from_byte,
            size_bytes,
        };
        assert_eq!(part(&bytes, &place(2, 3)), Some(b"cde".to_vec()));
        assert_eq!(part(&bytes, &place(6, 0)), Some(Vec::new()));
        assert_eq!(part(&bytes, &place(4, 3)), None);
        assert_eq!(part(&bytes, &place(u64::MAX, 2)), None);
    }
}
