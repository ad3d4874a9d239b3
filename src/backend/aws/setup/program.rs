//! The program that machines run: uploaded once, under its digest, so that a machine gets what was pinned for it and nothing else.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use aws_sdk_s3::config::timeout::TimeoutConfig;
use aws_sdk_s3::primitives::ByteStream;
use sha2::{Digest, Sha256};

use super::account::Account;
use super::deed::{Deeds, Outcome};
use super::deployment::Architecture;
use crate::backend::aws::calls::{Purpose, for_purpose};
use crate::backend::aws::fault::Fault;

/// What the names of all programs begin with.
pub(super) const PREFIX: &str = "bin/";
/// How long an upload may take.
const UPLOAD: Duration = Duration::from_secs(30 * 60);
/// Bytes read at once.
const STEP_BYTES: usize = 256 << 10;
/// The name of the metadata that says for which processors a program is.
const ARCHITECTURE: &str = "architecture";

/// Where the program with this digest (lower-case hexadecimal) is in a deployment's bucket.
pub fn object(sha256: &str) -> String {
    format!("{PREFIX}{sha256}/rat-things")
}

/// A program in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// Where it is.
    pub path: PathBuf,
    /// Digest of its bytes, in lower-case hexadecimal.
    pub sha256: String,
    /// How many there are.
    pub size_bytes: u64,
    /// What it runs on.
    pub architecture: Architecture,
}

/// Why a file can't be what machines run. Nothing happened.
#[derive(Debug, thiserror::Error)]
pub enum ProgramError {
    /// It can't be read.
    #[error("{path} can't be read: {error}")]
    Unreadable {
        /// The file.
        path: String,
        /// Why.
        error: io::Error,
    },
    /// It does not run on Linux, or not on what instances have.
    #[error("{0} is no program for Linux on arm64 or x86_64")]
    Foreign(String),
}

impl Program {
    /// Reads the file to its end. Blocks.
    ///
    /// # Errors
    /// It can't be read, or is no program for machines.
    pub fn of(path: &Path) -> Result<Program, ProgramError> {
        let unreadable = |error| ProgramError::Unreadable {
            path: path.display().to_string(),
            error,
        };
        let mut file = std::fs::File::open(path).map_err(unreadable)?;
        let (mut hash, mut size_bytes) = (Sha256::new(), 0);
        let (mut first, mut step) = (Vec::new(), vec![0; STEP_BYTES]);
        loop {
            let read = io::Read::read(&mut file, &mut step).map_err(unreadable)?;
            if read == 0 {
                break;
            }
            if first.len() < HEADER_BYTES {
                first.extend_from_slice(&step[..read.min(HEADER_BYTES)]);
            }
            hash.update(&step[..read]);
            size_bytes += read as u64;
        }
        let foreign = || ProgramError::Foreign(path.display().to_string());
        Ok(Program {
            path: path.to_owned(),
            sha256: data_encoding::HEXLOWER.encode(&hash.finalize()),
            size_bytes,
            architecture: architecture(&first).ok_or_else(foreign)?,
        })
    }

    /// Where it is in a deployment's bucket.
    pub fn object(&self) -> String {
        object(&self.sha256)
    }
}

/// As much of a program as says what it is for.
const HEADER_BYTES: usize = 20;

/// What a program in the format ELF runs on.
fn architecture(header: &[u8]) -> Option<Architecture> {
    const SIXTY_FOUR_BITS: u8 = 2;
    const LITTLE_ENDIAN: u8 = 1;
    let known = header.starts_with(b"\x7fELF")
        && header.get(4) == Some(&SIXTY_FOUR_BITS)
        && header.get(5) == Some(&LITTLE_ENDIAN);
    let machine = u16::from_le_bytes([*header.get(18)?, *header.get(19)?]);
    match (known, machine) {
        (true, 0x3e) => Some(Architecture::X86_64),
        (true, 0xb7) => Some(Architecture::Arm64),
        _ => None,
    }
}

/// A program in the bucket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Uploaded {
    /// Digest of its bytes.
    pub sha256: String,
    /// What it runs on, as AWS calls it; empty, if nobody said.
    pub architecture: String,
}

impl Account {
    /// Whether this program is in the bucket, whole.
    ///
    /// # Errors
    /// AWS did not say.
    pub async fn has_program(&self, program: &Program) -> Result<bool, Fault> {
        let head = self
            .s3
            .head_object()
            .bucket(self.deployment.bucket())
            .key(program.object())
            .send();
        match for_purpose(Purpose::Care, head).await {
            Ok(found) => {
                let size = found.content_length();
                Ok(size.and_then(|n| u64::try_from(n).ok()) == Some(program.size_bytes))
            }
            Err(error) => match Fault::of(&error) {
                fault if fault.is("NotFound") || fault.is("404") => Ok(false),
                fault => Err(fault),
            },
        }
    }

    /// Programs that are in the bucket.
    ///
    /// # Errors
    /// AWS did not say.
    pub async fn programs(&self) -> Result<Vec<Uploaded>, Fault> {
        let list = self
            .s3
            .list_objects_v2()
            .bucket(self.deployment.bucket())
            .prefix(PREFIX)
            .send();
        let list = for_purpose(Purpose::Care, list).await;
        let list = list.map_err(|error| Fault::of(&error))?;
        let mut found = Vec::new();
        for key in list.contents().iter().filter_map(|one| one.key()) {
            let Some(sha256) = digest(key) else { continue };
            let head = self
                .s3
                .head_object()
                .bucket(self.deployment.bucket())
                .key(key)
                .send();
            let head = for_purpose(Purpose::Care, head).await;
            let head = head.map_err(|error| Fault::of(&error))?;
            let architecture = head.metadata().and_then(|all| all.get(ARCHITECTURE));
            found.push(Uploaded {
                sha256: sha256.to_owned(),
                architecture: architecture.cloned().unwrap_or_default(),
            });
        }
        Ok(found)
    }

    /// Uploads a program unless it is there. S3 compares what arrives with the digest.
    pub async fn upload(&self, program: &Program, deeds: &mut Deeds<'_>) {
        let what = format!("upload {}", program.object());
        match self.has_program(program).await {
            Ok(true) => return,
            Ok(false) => {}
            Err(fault) => {
                deeds.end(what, Outcome::of(Err(fault)));
                return;
            }
        }
        deeds.begin(&what);
        let stored = for_purpose(Purpose::Care, self.store_program(program)).await;
        let stored = match stored {
            Err(Fault::Uncertain(words)) => match self.has_program(program).await {
                Ok(true) => Ok(()),
                _ => Err(Fault::Uncertain(words)),
            },
            stored => stored,
        };
        deeds.end(what, Outcome::of(stored));
    }

    async fn store_program(&self, program: &Program) -> Result<(), Fault> {
        let unreadable = |message: String| Fault::Refused {
            code: "Unreadable".to_owned(),
            message,
        };
        let body = ByteStream::from_path(&program.path).await;
        let body = body.map_err(|error| unreadable(error.to_string()))?;
        let digest = data_encoding::HEXLOWER.decode(program.sha256.as_bytes());
        let digest = digest.map_err(|error| unreadable(error.to_string()))?;
        // One attempt may take longer than all of a small request.
        let long = TimeoutConfig::builder()
            .operation_attempt_timeout(UPLOAD)
            .build();
        let answer = self
            .s3
            .put_object()
            .bucket(self.deployment.bucket())
            .key(program.object())
            .checksum_sha256(data_encoding::BASE64.encode(&digest))
            .metadata(ARCHITECTURE, program.architecture.name())
            .metadata("version", env!("CARGO_PKG_VERSION"))
            .body(body)
            .customize()
            .config_override(aws_sdk_s3::config::Builder::new().timeout_config(long))
            .send()
            .await;
        answer.map(drop).map_err(|error| Fault::of(&error))
    }
}

/// The digest in an object's name.
fn digest(key: &str) -> Option<&str> {
    let sha256 = key.strip_prefix(PREFIX)?.strip_suffix("/rat-things")?;
    let plain = sha256.len() == 64 && sha256.bytes().all(|byte| byte.is_ascii_hexdigit());
    plain.then_some(sha256)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn elf(machine: u16) -> Vec<u8> {
        let mut header = b"\x7fELF\x02\x01\x01".to_vec();
        header.resize(18, 0);
        header.extend(machine.to_le_bytes());
        header
    }

    #[test]
    fn a_program_says_what_it_runs_on() {
        assert_eq!(architecture(&elf(0x3e)), Some(Architecture::X86_64));
        assert_eq!(architecture(&elf(0xb7)), Some(Architecture::Arm64));
        for other in [
            elf(0x28),
            b"#!/bin/sh\necho no program".to_vec(),
            Vec::new(),
        ] {
            assert_eq!(architecture(&other), None);
        }
    }

    #[test]
    fn a_file_is_named_by_all_of_its_bytes() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let mut bytes = elf(0xb7);
        bytes.resize(STEP_BYTES * 2 + 7, 9);
        std::fs::write(file.path(), &bytes).expect("writes");
        let program = Program::of(file.path()).expect("a program");
        let expected = data_encoding::HEXLOWER.encode(&Sha256::digest(&bytes));
        assert_eq!(program.sha256, expected);
        assert_eq!(program.size_bytes, bytes.len() as u64);
        assert_eq!(digest(&program.object()), Some(expected.as_str()));
        assert!(matches!(
            Program::of(Path::new("/dev/null")),
            Err(ProgramError::Foreign(_))
        ));
    }
}
