//! What stands beside a list or a transcript, by how wide the screen is. Pure.
//!
//! Whoever reads moves right to go deeper: Sessions, Turns, the transcript, one Item. A column is there only where what is read keeps room
//! enough, and all of them go when a person wants the whole width.

use super::state::State;

/// Columns of a screen from which on something stands beside a list, and the Turns beside a transcript.
pub const TWO: u16 = 120;
/// The same for the Sessions beside the Turns.
const THREE: u16 = 160;
/// The same for one Item behind the transcript.
const FOUR: u16 = 200;

/// Cells of each column, with the line that ends it; 0: it is not there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Columns {
    /// The Sessions, first.
    pub sessions: usize,
    /// The newest Turns of the open one, behind them.
    pub turns: usize,
    /// One Item in full, or the selected Session, last.
    pub last: usize,
}

impl Columns {
    /// Cells of all of them.
    pub fn cells(self) -> usize {
        self.sessions + self.turns + self.last
    }

    /// Cells before what is read.
    pub fn before(self) -> usize {
        self.sessions + self.turns
    }
}

impl State {
    /// The columns beside the transcript.
    pub fn columns(&self) -> Columns {
        let (sessions, turns, last) = match self.size.0 {
            _ if self.whole => (0, 0, 0),
            FOUR.. => (40, 36, 48),
            THREE.. => (38, 36, 0),
            TWO.. => (0, 36, 0),
            _ => (0, 0, 0),
        };
        Columns {
            sessions,
            turns,
            last,
        }
    }

    /// The columns beside the list of Sessions.
    pub fn list_columns(&self) -> Columns {
        let last = match self.size.0 {
            _ if self.whole => 0,
            THREE.. => 56,
            TWO.. => 48,
            _ => 0,
        };
        Columns {
            last,
            ..Columns::default()
        }
    }

    /// Cells of what is told of the selected row of another list; 0: nothing is.
    pub fn told_beside(&self) -> usize {
        match self.size.0 {
            _ if self.whole => 0,
            TWO.. => usize::from(self.size.0) / 2,
            _ => 0,
        }
    }
}
