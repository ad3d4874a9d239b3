//! The Turns of a Session as a list, newest first; and from Turn to Turn in its transcript. Pure.

use super::find::Wanted;
use super::msg::Effect;
use super::reading::{ReadAsk, TurnPlace, WhichTurn};
use super::rows::Rows;
use super::session::Open;
use super::state::State;
use super::transcript::Look;
use super::window::Where;
use crate::api::Turn;

/// See the module.
#[derive(Clone, Debug)]
pub struct Turns {
    /// The Session.
    pub session: String,
    /// Its Turns.
    pub rows: Rows<Turn>,
}

impl Turns {
    /// A list that nothing was read for yet.
    pub fn new(session: String) -> Turns {
        Turns {
            session,
            rows: Rows::default(),
        }
    }

    /// Asks for rows.
    pub fn read(&mut self, state: &mut State, at: Where) -> Effect {
        let ask = ReadAsk::Turns {
            session: self.session.clone(),
            at: at.clone(),
        };
        let (ticket, effect) = state.reading(ask);
        self.rows.asked(at, ticket, state.now_ms);
        effect
    }
}

/// What leads to a Turn.
#[derive(Clone, Debug, PartialEq)]
pub enum Beside {
    /// It is shown.
    Shown(Vec<Effect>),
    /// It has to be asked for.
    Ask(WhichTurn),
}

impl Open {
    /// To the start of the Turn at which the reader is, or of the one before that, or of the next. It is shown if its first Item is held;
    /// otherwise the answer is which Turn to ask for.
    ///
    /// # Errors
    /// There is none, in words.
    pub fn turn_beside(
        &mut self,
        up: bool,
        size: Look,
        height: usize,
    ) -> Result<Beside, &'static str> {
        let rows = self.items.rows();
        let first = rows.first().ok_or("there is no Item yet")?;
        let (end, start) = match (&self.finder.found, self.follow) {
            (Some((place, _)), _) => (*place, place + 1),
            (None, true) => (rows.len(), rows.len()),
            (None, false) => {
                let (top, within) = self.anchor;
                (top + usize::from(within > 0), top + 1)
            }
        };
        let end = end.min(rows.len());
        let begins = |place: &usize| match *place {
            0 => self.items.before().is_none(),
            place => rows[place - 1].turn_id() != rows[place].turn_id(),
        };
        let known = match up {
            true => (0..end).rev().find(begins),
            false => (start..rows.len()).find(begins),
        };
        if let Some(place) = known {
            let shown = self.show_found(place, Wanted::Turn, size, height);
            return Ok(Beside::Shown(shown));
        }
        if up && self.items.before().is_none() {
            return Err("this is the first turn");
        }
        if !up && self.items.behind().is_none() {
            return Err("this is the last turn");
        }
        let was_shown = matches!(self.finder.found, Some((0, Wanted::Turn)));
        let last = rows.last().unwrap_or(first).turn_id().to_owned();
        Ok(Beside::Ask(match (up, end.checked_sub(1)) {
            (false, _) => WhichTurn::Behind(last),
            (true, Some(above)) => WhichTurn::This(rows[above].turn_id().to_owned()),
            (true, None) if was_shown => WhichTurn::Before(first.turn_id().to_owned()),
            (true, None) => WhichTurn::This(first.turn_id().to_owned()),
        }))
    }

    /// Shows the first Item of a Turn.
    pub fn show_turn(
        &mut self,
        place: TurnPlace,
        size: Look,
        height: usize,
    ) -> Result<Vec<Effect>, String> {
        let Some(chunk) = place.items else {
            return Err(match place.turn {
                Some(turn) => format!("{} has no Items", turn.id),
                None => "there is no other turn".to_owned(),
            });
        };
        if let Some(turn) = place.turn {
            self.turns.insert(turn.id.clone(), turn);
        }
        for turn in place.turns {
            self.turns.insert(turn.id.clone(), turn);
        }
        self.items.show(chunk);
        self.forget_look();
        self.finder.going = None;
        Ok(self.show_found(0, Wanted::Turn, size, height))
    }
}
