//! Artifacts of the demo world: their names, and their bytes when somebody reads them. Pure.

use super::part::Part;
use super::words::{self, HOSTILE};
use super::{Here, Shared};
use crate::api::{ArtifactObject, SessionArtifact};
use crate::engine::ids::{self, Kind};

/// Bits of an Artifact's number that say which one of its Turn it is.
const FILE_BITS: u32 = 8;

/// One file.
#[derive(Clone, Debug, PartialEq)]
struct File {
    path: &'static str,
    bytes: Vec<u8>,
}

fn report(luck: u64) -> File {
    let text = format!(
        "# {}\n\n{}\n\n## Measured\n\n| reader | peak | time |\n| --- | --- | --- |\n| whole | 41 GB | 6m12s |\n| stream | 38 MB | 5m58s |\n\n\
         - {}\n- {}\n",
        words::title(luck),
        words::sentences(luck, 4),
        words::sentences(luck + 1, 1),
        words::sentences(luck + 2, 1),
    );
    File {
        path: "report.md",
        bytes: text.into_bytes(),
    }
}

fn change(luck: u64) -> File {
    let text = format!(
        "diff --git a/src/reader.rs b/src/reader.rs\n--- a/src/reader.rs\n+++ b/src/reader.rs\n@@ -88,3 +88,4 @@ fn read()\n     let mut rows = 0;\n\
         -    let all = read_to_end(source)?;\n+    for row in Rows::new(source) {{\n+        // {}\n     }}\n",
        words::sentences(luck, 1)
    );
    File {
        path: "changes/0001-reader.diff",
        bytes: text.into_bytes(),
    }
}

fn table(luck: u64) -> File {
    let mut text = String::from("run,seconds,peak MB,comment\n");
    for row in 0..40_u64 {
        let luck = words::chance(&[luck, row]);
        let comment = words::command(luck);
        text.push_str(&format!(
            "{row},{}.{:02},{},\"{comment}, again\"\n",
            luck % 90,
            luck % 97,
            luck % 512
        ));
    }
    File {
        path: "bench.csv",
        bytes: text.into_bytes(),
    }
}

fn binary(luck: u64, size: usize) -> File {
    let mut bytes = b"\x7fELF\x02\x01\x01\0".to_vec();
    let mut state = luck;
    while bytes.len() < size {
        state = words::chance(&[state]);
        bytes.extend(state.to_le_bytes());
    }
    bytes.truncate(size);
    File {
        path: "bin/reader",
        bytes,
    }
}

fn log(luck: u64) -> File {
    File {
        path: "build.log",
        bytes: words::output(luck, 30_000, true).into_bytes(),
    }
}

/// The files of a Session's last Turn of the past.
fn files(part: Part, luck: u64) -> Vec<File> {
    let ordinary = [report, change, table];
    match part {
        Part::Large => vec![
            report(luck),
            binary(luck, 3 << 20),
            log(luck),
            table(luck),
            change(luck),
        ],
        Part::Hostile => vec![File {
            path: "hostile \u{1b}[2J\u{202e}.txt",
            bytes: HOSTILE.as_bytes().to_vec(),
        }],
        Part::Failed | Part::Budget => vec![report(luck)],
        Part::Long => vec![report(luck), change(luck), table(luck), binary(luck, 5_000)],
        _ => {
            let many = (luck >> 5) as usize % (ordinary.len() + 1);
            ordinary[..many].iter().map(|make| make(luck)).collect()
        }
    }
}

impl Here {
    /// Its Artifacts, oldest first, and their bytes.
    pub(super) fn artifacts(&self, shared: &Shared) -> Vec<(SessionArtifact, Vec<u8>)> {
        if self.past_turns == 0 {
            return Vec::new();
        }
        let turn = self.turn(shared, self.past_turns);
        let made = files(self.part, self.luck).into_iter().enumerate();
        made.map(|(at, file)| {
            let number = (self.past_turns << FILE_BITS) | at as u64;
            let artifact = SessionArtifact {
                id: ids::derived(Kind::Artifact, &self.id, number),
                created_at: turn.completed_at.unwrap_or(turn.created_at),
                environment_id: self.environment_id(),
                object: ArtifactObject::Only,
                path: file.path.to_owned(),
                session_id: self.id.to_string(),
                size_bytes: file.bytes.len() as u64,
                turn_id: turn.id.clone(),
            };
            (artifact, file.bytes)
        })
        .collect()
    }
}
