//! Archives as files: written, read back, and everything that is refused.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use super::*;
use crate::engine::archive::{ArchiveError, ArchiveSink, ArchiveSource};

/// An archive of two entries.
async fn written(dir: &Path) -> PathBuf {
    let path = dir.join("a.tar.zst");
    let file = File::create_new(&path).expect("creates");
    let mut writer = TarZstdWriter::new(file, dir).expect("begins");
    for kept in [&b"first "[..], b"forgotten"] {
        writer.keep(kept.into()).await.expect("keeps");
    }
    writer.forget_kept().await.expect("forgets");
    writer.keep(b"kept bytes"[..].into()).await.expect("keeps");
    writer.begin("one", 0).await.expect("begins");
    writer.begin("two/two", 13).await.expect("begins");
    writer.write_kept(4).await.expect("writes");
    writer.write(b"???"[..].into()).await.expect("writes");
    writer.write_kept(6).await.expect("writes");
    writer.finish().await.expect("finishes");
    path
}

async fn entries(path: &Path) -> Result<Vec<(String, Vec<u8>)>, ArchiveError> {
    let mut reader = TarZstdReader::open(path).expect("opens");
    let mut found = Vec::new();
    while let Some(head) = reader.next().await? {
        let mut content = Vec::new();
        loop {
            let bytes = reader.read().await?;
            if bytes.is_empty() {
                break;
            }
            content.extend_from_slice(&bytes);
        }
        found.push((head.name, content));
    }
    Ok(found)
}

/// What is said of a tar with these bytes in it.
async fn said_of(dir: &Path, tar: &[u8], behind: &[u8]) -> String {
    let mut packed = zstd::encode_all(tar, 1).expect("packs");
    packed.extend_from_slice(behind);
    let path = dir.join("bad.tar.zst");
    fs::write(&path, packed).expect("writes");
    let error = entries(&path).await.expect_err("refused");
    assert!(matches!(error, ArchiveError::Refused { .. }), "{error:?}");
    error.to_string()
}

fn header(name: &str, kind: tar::EntryType, size_bytes: u64) -> tar::Header {
    let mut header = tar::Header::new_ustar();
    header.set_path(name).expect("short");
    header.set_size(size_bytes);
    header.set_entry_type(kind);
    header.set_cksum();
    header
}

#[tokio::test]
async fn what_was_written_is_read_back_by_us_and_by_any_tar() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = written(dir.path()).await;
    let expected = vec![
        ("one".to_owned(), Vec::new()),
        ("two/two".to_owned(), b"kept??? bytes".to_vec()),
    ];
    assert_eq!(entries(&path).await, Ok(expected.clone()));
    let unpacked = zstd::Decoder::new(File::open(&path).expect("opens")).expect("a frame");
    let mut archive = tar::Archive::new(unpacked);
    let names: Vec<String> = archive
        .entries()
        .expect("a tar")
        .map(|entry| entry.expect("an entry"))
        .map(|entry| entry.path().expect("a name").display().to_string())
        .collect();
    assert_eq!(names, ["one", "two/two"]);
    let left = fs::read_dir(dir.path()).expect("lists").count();
    assert_eq!(left, 1, "what was kept aside has no name");
}

#[tokio::test]
async fn an_entry_of_another_length_than_it_was_begun_with_is_an_error() {
    let dir = tempfile::tempdir().expect("a directory");
    for (given, ended) in [(&b"abcd"[..], false), (b"ab", true)] {
        let file = File::create(dir.path().join("a")).expect("creates");
        let mut writer = TarZstdWriter::new(file, dir.path()).expect("begins");
        writer.begin("a", 3).await.expect("begins");
        assert_eq!(writer.write(given.into()).await.is_ok(), ended);
        assert!(writer.finish().await.is_err());
    }
}

#[tokio::test]
async fn what_an_export_does_not_write_is_refused() {
    use tar::EntryType;
    let dir = tempfile::tempdir().expect("a directory");
    let end = [0; 2 * BLOCK_BYTES];
    let tar_of = |header: &tar::Header| [header.as_bytes().as_slice(), &end].concat();
    for (kind, expected) in [
        (EntryType::Symlink, "is a link"),
        (EntryType::Link, "is a link"),
        (EntryType::Directory, "not a plain file"),
        (EntryType::Fifo, "not a plain file"),
        (EntryType::Char, "not a plain file"),
        (EntryType::XHeader, "not a plain file"),
        (EntryType::GNULongName, "not a plain file"),
    ] {
        let said = said_of(dir.path(), &tar_of(&header("a", kind, 0)), b"").await;
        assert!(said.contains(expected), "{kind:?}: {said}");
    }
    let plain = header("a", EntryType::Regular, 1);
    let mut sum = *plain.as_bytes();
    sum[0] ^= 1;
    let block = |byte: u8| [byte; BLOCK_BYTES];
    let whole = [plain.as_bytes().as_slice(), &block(0), &end].concat();
    for (tar, behind, expected) in [
        (
            [&sum[..], &block(0), &end].concat(),
            &b""[..],
            "a header that is none",
        ),
        (
            [plain.as_bytes().as_slice(), &block(7), &end].concat(),
            b"",
            "between two",
        ),
        ([&whole[..], b"x"].concat(), b"", "behind its end"),
        (whole.clone(), b"x", "behind its end"),
        (
            whole.clone(),
            &zstd::encode_all(&b"x"[..], 1).expect("packs"),
            "behind its end",
        ),
        (
            [&whole[..], &vec![0; 1 << 20]].concat(),
            b"",
            "behind its end",
        ),
        (whole[..BLOCK_BYTES * 3].to_vec(), b"", "cut off"),
        (Vec::new(), b"", "cut off"),
    ] {
        let said = said_of(dir.path(), &tar, behind).await;
        assert!(said.contains(expected), "{expected}: {said}");
    }
}

#[tokio::test]
async fn every_cut_and_every_flipped_bit_is_noticed() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = written(dir.path()).await;
    let whole = fs::read(&path).expect("reads");
    let expected = entries(&path).await;
    let bad = dir.path().join("bad");
    for cut in 0..whole.len() {
        fs::write(&bad, &whole[..cut]).expect("writes");
        assert!(entries(&bad).await.is_err(), "cut at {cut}");
    }
    for at in 0..whole.len() {
        let mut flipped = whole.clone();
        flipped[at] ^= 0x10;
        fs::write(&bad, &flipped).expect("writes");
        let read = entries(&bad).await;
        // A bit that means nothing may be either.
        assert!(read.is_err() || read == expected, "flipped at {at}");
    }
}

#[tokio::test]
async fn only_plain_files_are_opened() {
    let dir = tempfile::tempdir().expect("a directory");
    assert!(TarZstdReader::open(dir.path()).is_err());
    assert!(TarZstdReader::open(&dir.path().join("none")).is_err());
    let pipe = dir.path().join("pipe");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &pipe,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
        0,
    )
    .expect("a pipe");
    assert!(TarZstdReader::open(&pipe).is_err());
    let text = dir.path().join("text");
    File::create(&text)
        .and_then(|mut file| file.write_all(b"no archive at all"))
        .expect("writes");
    let said = entries(&text).await.expect_err("refused").to_string();
    assert!(said.contains("no archive"), "{said}");
}
