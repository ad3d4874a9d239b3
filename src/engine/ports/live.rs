//! Text that is being written: what a follower may be shown before an Item is complete. It is never stored, and whoever misses
//! some of it misses nothing, because the complete Item follows.

use serde::{Deserialize, Serialize};

/// A piece of what an Item of the agent will hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LiveText {
    /// Session id.
    pub session: String,
    /// Of the Run that wrote it. A follower shows nothing of a Run that is not the live one (I4).
    pub generation: u64,
    /// Turn number.
    pub turn: u64,
    /// Item number. Of a command it is the claimed Item's; of anything else the number that the Item will get.
    pub item: u64,
    /// The Item's place among the Turn's output.
    pub output_index: u64,
    /// Which text of the Item.
    pub part: LivePart,
    /// How often the Run began this text: one that is higher makes all void that came with a lower one.
    pub attempt: u32,
    /// Bytes of this text before this piece: less than what is known is a repetition, more is a gap.
    pub offset_bytes: u64,
    /// The piece, at most [`LiveText::MAX_BYTES`] long.
    pub text: String,
}

impl LiveText {
    /// Bytes of one piece at most.
    pub const MAX_BYTES: usize = 8 << 10;

    /// Where the next piece of the same text begins.
    pub fn end_bytes(&self) -> u64 {
        self.offset_bytes + self.text.len() as u64
    }
}

/// Which text of an Item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LivePart {
    /// Of a message.
    Message,
    /// Of a reasoning summary: its place among the Item's summaries.
    Summary(u64),
    /// Output of a command.
    Output,
}
