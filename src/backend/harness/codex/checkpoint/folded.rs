//! A manifest as it is stored: of a long file it does not name every segment, but lists of them that are stored like segments. So it does not
//! grow with the conversation. Pure.

use std::collections::BTreeMap;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::manifest::{Manifest, SavedFile, SavedSegment};
use super::segments::{self, Segment};
use super::{RestoreError, damaged};
use crate::engine::ports::BlobRef;

/// Segments of a list. It is full before it is made, so it never changes.
const LIST_SEGMENTS: usize = 32;
/// All lists of a checkpoint, unpacked. The largest that is taken needs a sixteenth of it.
const LISTS_LIMIT_BYTES: u64 = 16 << 20;

/// What is stored of a manifest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Folded {
    /// All but the files' earlier segments.
    #[serde(flatten)]
    manifest: Manifest,
    /// Lists of the earlier segments, for each file in the order of the manifest.
    lists: Vec<Vec<SavedSegment>>,
}

impl Folded {
    /// A manifest in this form, and its lists, which must be stored before it like segments.
    pub fn new(manifest: &Manifest) -> std::io::Result<(Folded, Vec<Segment>)> {
        let mut manifest = manifest.clone();
        let mut lists = Vec::new();
        let mut all = Vec::new();
        for file in &mut manifest.files {
            // The last segment may still grow.
            let full = file.segments.len().saturating_sub(1) / LIST_SEGMENTS * LIST_SEGMENTS;
            let rest = file.segments.split_off(full);
            let mut of_file = Vec::new();
            for list in file.segments.chunks(LIST_SEGMENTS) {
                let list = segments::pack(&serde_json::to_vec(list)?)?;
                of_file.push(list.saved.clone());
                all.push(list);
            }
            file.segments = rest;
            lists.push(of_file);
        }
        Ok((Folded { manifest, lists }, all))
    }

    /// The lists, which must be at hand to know the rest.
    pub fn blobs(&self) -> Vec<&BlobRef> {
        let lists = self.lists.iter().flatten();
        lists.map(|list| &list.blob).collect()
    }

    /// The manifest, with the lists that [`blobs`](Folded::blobs) names.
    pub fn unfold(&self, lists: &BTreeMap<String, Bytes>) -> Result<Manifest, RestoreError> {
        let sizes = self.lists.iter().flatten().map(|list| list.raw_bytes);
        if sizes.fold(0, u64::saturating_add) > LISTS_LIMIT_BYTES {
            return Err(damaged("its lists are longer than any that are made"));
        }
        if self.lists.len() != self.manifest.files.len() {
            return Err(damaged("its lists are not those of its files"));
        }
        let mut manifest = self.manifest.clone();
        for (file, of_file) in manifest.files.iter_mut().zip(&self.lists) {
            *file = unfolded(file, of_file, lists)?;
        }
        Ok(manifest)
    }
}

fn unfolded(
    file: &SavedFile,
    of_file: &[SavedSegment],
    lists: &BTreeMap<String, Bytes>,
) -> Result<SavedFile, RestoreError> {
    let mut all = Vec::new();
    for list in of_file {
        let bytes = segments::join(std::slice::from_ref(list), lists)?;
        let list: Vec<SavedSegment> =
            serde_json::from_slice(&bytes).map_err(|_| damaged("a list of segments is none"))?;
        all.extend(list);
    }
    all.extend(file.segments.iter().cloned());
    Ok(SavedFile {
        path: file.path.clone(),
        segments: all,
    })
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn manifest(counts: &[usize]) -> Manifest {
        let segment = |n: usize| SavedSegment {
            blob: BlobRef {
                sha256: format!("{n:064x}"),
                size_bytes: n as u64,
            },
            raw_bytes: 65_536,
        };
        let file = |(at, count): (usize, &usize)| SavedFile {
            path: format!("sessions/rollout-{at}.jsonl"),
            segments: (0..*count).map(segment).collect(),
        };
        let files = counts.iter().enumerate().map(file).collect();
        Manifest::new("0.171.0", "t1", 7, files)
    }

    fn stored(lists: &[Segment]) -> BTreeMap<String, Bytes> {
        let lists = lists.iter();
        lists
            .map(|list| (list.saved.blob.sha256.clone(), list.packed.clone()))
            .collect()
    }

    #[test]
    fn what_is_folded_written_read_and_unfolded_is_the_same() {
        for counts in [&[][..], &[0], &[1], &[32], &[33], &[64, 3, 100], &[65]] {
            let manifest = manifest(counts);
            let (folded, lists) = Folded::new(&manifest).expect("it can be packed");
            let text = serde_json::to_string(&folded).expect("it is plain data");
            let read: Folded = serde_json::from_str(&text).expect("it is what was written");
            assert_eq!(read, folded);
            let unfolded = read.unfold(&stored(&lists));
            assert!(unfolded.is_ok_and(|unfolded| unfolded == manifest));
        }
    }

    #[test]
    fn what_grows_keeps_its_lists_and_names_no_more_itself() {
        let (short, before) = Folded::new(&manifest(&[200])).expect("it can be packed");
        let (long, after) = Folded::new(&manifest(&[200 + 1_000])).expect("it can be packed");
        assert_eq!((before.len(), after.len()), (6, 37));
        assert_eq!(before[..], after[..6]);
        let named = |folded: &Folded| folded.manifest.files[0].segments.len();
        assert!(named(&short) <= LIST_SEGMENTS && named(&long) <= LIST_SEGMENTS);
    }

    #[test]
    fn a_list_that_is_lost_or_something_else_is_refused() {
        let (folded, lists) = Folded::new(&manifest(&[70])).expect("it can be packed");
        let missing = folded.unfold(&BTreeMap::new());
        assert!(matches!(missing, Err(RestoreError::Missing { .. })));
        let mut other = stored(&lists);
        for packed in other.values_mut() {
            *packed = Bytes::from_static(b"something else");
        }
        assert!(matches!(
            folded.unfold(&other),
            Err(RestoreError::Damaged { .. })
        ));
        let mut fewer = folded.clone();
        fewer.lists.clear();
        assert!(matches!(
            fewer.unfold(&stored(&lists)),
            Err(RestoreError::Damaged { .. })
        ));
        let mut huge = folded;
        huge.lists[0][0].raw_bytes = u64::MAX;
        assert!(matches!(
            huge.unfold(&stored(&lists)),
            Err(RestoreError::Damaged { .. })
        ));
    }
}
