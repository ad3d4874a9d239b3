//! Searching one transcript, for words or for what the user wrote. Pure.
//!
//! What the screen holds is searched at once. Beyond it pages are read without being kept, so that a reader stays where they are until
//! something is found.

use std::collections::BTreeSet;

use super::field::Field;
use super::msg::{Effect, Trouble};
use super::session::Open;
use super::transcript::{self, entry, text_of};
use super::window::{Chunk, Where};
use crate::api::{Item, MessageContent, Role, Turn};
use crate::text::count;

/// What is searched for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// An Item that has these words, in letters of any case; kept in lower case.
    Words(String),
    /// A message of the user.
    Asked,
    /// Any Item.
    Any,
    /// What a Turn begins with; only its place is known, not whether an Item is it.
    Turn,
}

impl Wanted {
    /// Words as they were typed; `None`: there are none.
    pub fn words(typed: &str) -> Option<Wanted> {
        let typed = typed.trim();
        (!typed.is_empty()).then(|| Wanted::Words(typed.to_lowercase()))
    }

    /// Whether this is such an Item.
    pub fn is(&self, item: &Item) -> bool {
        match self {
            Wanted::Words(words) => text_of(item).to_lowercase().contains(words),
            Wanted::Asked => match item {
                Item::Message(message) => {
                    message.role == Role::User
                        && message
                            .content
                            .iter()
                            .any(|part| !matches!(part, MessageContent::OutputText { .. }))
                }
                _ => false,
            },
            Wanted::Any => true,
            Wanted::Turn => false,
        }
    }

    /// Whether a line shows it.
    pub fn is_in(&self, line: &str) -> bool {
        match self {
            Wanted::Words(words) => line.to_lowercase().contains(words),
            Wanted::Asked | Wanted::Any | Wanted::Turn => true,
        }
    }

    fn name(&self) -> String {
        match self {
            Wanted::Words(words) => format!("{words:?}"),
            Wanted::Asked => "message of the user".to_owned(),
            Wanted::Any => "Item".to_owned(),
            Wanted::Turn => "turn".to_owned(),
        }
    }
}

/// A search of Items that the screen does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FindAsk {
    /// Repeated in the answer.
    pub ticket: u64,
    /// The Session.
    pub session: String,
    /// From where, and in which direction.
    pub at: Where,
    /// What.
    pub wanted: Wanted,
    /// Turns that are over and known.
    pub known: BTreeSet<String>,
}

/// How far a search came.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// The place of what was found among the rows of `chunk`.
    pub place: Option<usize>,
    /// The last Items that were read; `scanned` counts all.
    pub chunk: Chunk<Item>,
    /// Turns of those Items, if something was found.
    pub turns: Vec<Turn>,
}

/// A search that goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Going {
    ticket: u64,
    wanted: Wanted,
    up: bool,
    /// Items that were looked at.
    pub looked: usize,
}

/// What is searched in a Session.
#[derive(Clone, Debug, Default)]
pub struct Finder {
    /// The words, while they are typed.
    pub typing: Option<Field>,
    /// The words that were searched last.
    pub words: Option<Wanted>,
    /// The place of the Item that was found last, and what it was found by.
    pub found: Option<(usize, Wanted)>,
    /// The search that goes on.
    pub going: Option<Going>,
    /// Something to be said, until it was.
    pub says: Option<String>,
    tickets: u64,
}

impl Finder {
    /// The Items moved by so many places.
    pub fn shift(&mut self, places: isize) {
        self.found = self.found.take().and_then(|(place, wanted)| {
            let place = place.checked_add_signed(places)?;
            Some((place, wanted))
        });
    }
}

impl Open {
    /// Searches upwards (or down) from where the reader is.
    pub fn find(
        &mut self,
        wanted: Wanted,
        up: bool,
        size: transcript::Look,
        height: usize,
    ) -> Vec<Effect> {
        let rows = self.items.rows();
        let top = self.anchor.0 + usize::from(self.anchor.1 > 0);
        let (end, start) = match (&self.finder.found, self.follow) {
            (Some((place, _)), _) => (*place, place + 1),
            (None, true) => (rows.len(), rows.len()),
            (None, false) => (top, top),
        };
        let hit = match up {
            true => rows[..end.min(rows.len())]
                .iter()
                .rposition(|item| wanted.is(item)),
            false => rows
                .iter()
                .skip(start)
                .position(|item| wanted.is(item))
                .map(|place| start + place),
        };
        if let Some(place) = hit {
            self.finder.going = None;
            return self.show_found(place, wanted, size, height);
        }
        let edge = match up {
            true => self.items.before(),
            false => self.items.behind(),
        };
        self.finder.tickets += 1;
        let going = Going {
            ticket: self.finder.tickets,
            wanted,
            up,
            looked: 0,
        };
        self.find_on(going, edge)
    }

    /// Reads on from an edge, or says that there is nothing more.
    fn find_on(&mut self, going: Going, edge: Option<Where>) -> Vec<Effect> {
        let Some(at) = edge else {
            let way = if going.up { "above" } else { "below" };
            self.finder.says = Some(format!("no {} {way}", going.wanted.name()));
            self.finder.going = None;
            return Vec::new();
        };
        let ask = FindAsk {
            ticket: going.ticket,
            session: self.id.clone(),
            at,
            wanted: going.wanted.clone(),
            known: self.known_turns(),
        };
        self.finder.going = Some(going);
        vec![Effect::Find(ask)]
    }

    /// Takes in how far a search came.
    pub fn found(
        &mut self,
        ticket: u64,
        result: Result<Box<Finding>, Trouble>,
        size: transcript::Look,
        height: usize,
    ) -> Vec<Effect> {
        let Some(mut going) = self.finder.going.take_if(|going| going.ticket == ticket) else {
            return Vec::new();
        };
        let finding = match result {
            Ok(finding) => *finding,
            Err(trouble) => {
                self.finder.says = Some(format!("the search broke off: {}", trouble.words));
                return Vec::new();
            }
        };
        going.looked += finding.chunk.scanned;
        let Some(place) = finding.place else {
            let chunk = finding.chunk;
            let edge = chunk
                .cursor
                .filter(|_| chunk.more)
                .map(|id| match going.up {
                    true => Where::Before(id),
                    false => Where::After(id),
                });
            return self.find_on(going, edge);
        };
        for turn in finding.turns {
            self.turns.insert(turn.id.clone(), turn);
        }
        self.items.show(finding.chunk);
        self.forget_look();
        self.finder.says = Some(format!(
            "found, {} Items searched",
            count(going.looked as u64)
        ));
        self.show_found(place, going.wanted, size, height)
    }

    /// Which of the Items that are held and have the words this is, from the top.
    fn which(&self, place: usize, wanted: &Wanted) -> String {
        let rows = self.items.rows();
        let is_it = |items: &[Item]| items.iter().filter(|item| wanted.is(item)).count();
        let (above, all) = (is_it(&rows[..place.min(rows.len())]), is_it(rows));
        let (this, all) = (count(above as u64 + 1), count(all as u64));
        match self.items.before().is_some() || self.items.behind().is_some() {
            true => format!(
                "{this} of {all} among the {} Items here",
                count(rows.len() as u64)
            ),
            false => format!("{this} of {all}"),
        }
    }

    /// To an Item that the screen holds.
    pub(super) fn show_found(
        &mut self,
        place: usize,
        wanted: Wanted,
        size: transcript::Look,
        height: usize,
    ) -> Vec<Effect> {
        self.follow = false;
        if let (Wanted::Words(_), None) = (&wanted, &self.finder.says) {
            self.finder.says = Some(self.which(place, &wanted));
        }
        self.finder.found = Some((place, wanted));
        let line = entry(self, place, size).iter().position(|line| line.found);
        // Two lines above it tell where it stands.
        let wish = (place, line.unwrap_or(0).saturating_sub(2));
        self.anchor = match self.items.behind() {
            None => wish.min(self.top_when_following(size, height)),
            Some(_) => wish,
        };
        self.read_near_edge(size, height)
    }

    /// The Item that is marked.
    pub fn marked(&self) -> Option<&Item> {
        let (place, _) = self.finder.found.as_ref()?;
        self.items.rows().get(*place)
    }

    /// The text that a person who copies means: of the Item that was found, or else the agent's newest message.
    pub fn copied_text(&self) -> Option<String> {
        let rows = self.items.rows();
        let newest = || {
            rows.iter().rev().find(
                |item| matches!(item, Item::Message(message) if message.role == Role::Assistant),
            )
        };
        self.marked().or_else(newest).map(text_of)
    }

    /// The Item that is meant: what was found, or the first on the screen, or while it is followed the newest.
    pub fn item_in_sight(&self) -> Option<&Item> {
        let rows = self.items.rows();
        let found = self.finder.found.as_ref().map(|(place, _)| *place);
        let place = found.or((!self.follow).then_some(self.anchor.0));
        let meant = place.and_then(|place| rows.get(place));
        meant.or(rows.last())
    }

    /// All of its text.
    pub fn paged_text(&self) -> Option<String> {
        self.item_in_sight().map(text_of)
    }
}
