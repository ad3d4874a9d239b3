//! All that the screen knows. `update` changes it, `view` draws it, and neither does anything else.

use jiff::tz::TimeZone;

use super::action::Place;
use super::copy::copyable;
use super::create::Create;
use super::keymap::Keymap;
use super::layers::Layer;
use super::msg::Effect;
use super::picture::{CELL, Pictures};
use super::reading::ReadAsk;
use super::session::{Cancelling, Open};
use super::sessions::Sessions;
use super::transcript;
use crate::text::{Glyphs, TimeStyle, size};

/// Columns and rows of the smallest screen that is drawn.
pub const LEAST: (u16, u16) = (60, 15);

/// What does not change while the screen is open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct About {
    /// Name of the profile.
    pub profile: String,
    /// Where the Sessions live, for a person.
    pub place: String,
    /// Nothing may be changed.
    pub read_only: bool,
    /// Characters that may leave.
    pub glyphs: Glyphs,
    /// The model of a Session for which none is named.
    pub default_model: Option<String>,
    /// How images are shown.
    pub pictures: Pictures,
}

/// Idempotency keys that were never used, made from one random seed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keys {
    seed: String,
    used: u64,
}

impl Keys {
    /// The next one.
    pub fn spare(&self) -> String {
        format!("{}-{}", self.seed, self.used)
    }

    /// The one that was given last is used now.
    pub fn used(&mut self) {
        self.used += 1;
    }
}

/// See the module.
#[derive(Clone, Debug)]
pub struct State {
    /// What does not change.
    pub about: About,
    /// Columns and rows.
    pub size: (u16, u16),
    /// Pixels of a cell: columns, rows.
    pub cell: (u16, u16),
    /// Unix milliseconds, as of the last tick.
    pub now_ms: u64,
    /// The list.
    pub sessions: Sessions,
    /// The Session that is open.
    pub open: Option<Open>,
    /// Drafts of Sessions that were left, by id.
    pub drafts: std::collections::BTreeMap<String, super::composer::Composer>,
    /// What lies above the list or the Session, the topmost last.
    pub layers: Vec<Layer>,
    /// The form of a new Session that was left.
    pub creating: Option<Box<Create>>,
    /// Requests of the layers that were made so far.
    tickets: u64,
    /// The answer to which request says where a Turn begins.
    pub place_ticket: u64,
    /// The help is open, scrolled by so many lines.
    pub help: Option<usize>,
    /// Said until the next key.
    pub notice: Option<String>,
    /// What is read has the whole width, and nothing stands beside it.
    pub whole: bool,
    /// How times are shown.
    pub time_style: TimeStyle,
    /// Where the clock of the person is.
    pub zone: TimeZone,
    /// The screen takes the mouse.
    pub mouse: bool,
    /// What a person changed in the table of keys.
    pub keymap: Keymap,
    /// Other profiles, by name.
    pub profiles: Vec<String>,
    /// Where keys of submissions come from.
    pub keys: Keys,
    /// The next key that quits does so, whatever would be lost.
    pub leaving: bool,
    /// When `ctrl-c` was pressed, Unix milliseconds: again soon, it quits.
    pub interrupted_ms: Option<u64>,
    /// Something that is shown changed since it was drawn.
    pub dirty: bool,
}

impl State {
    /// An empty screen. `seed` is random, so that no key of it was ever used.
    pub fn new(about: About, size: (u16, u16), now_ms: u64, seed: String) -> State {
        State {
            about,
            size,
            cell: CELL,
            now_ms,
            sessions: Sessions::default(),
            open: None,
            drafts: std::collections::BTreeMap::new(),
            layers: Vec::new(),
            creating: None,
            tickets: 0,
            place_ticket: 0,
            help: None,
            notice: None,
            whole: false,
            time_style: TimeStyle::Relative,
            zone: TimeZone::UTC,
            mouse: false,
            keymap: Keymap::default(),
            profiles: Vec::new(),
            keys: Keys { seed, used: 0 },
            leaving: false,
            interrupted_ms: None,
            dirty: true,
        }
    }

    /// Where keys go.
    pub fn place(&self) -> Place {
        if self.help.is_some() {
            return Place::Help;
        }
        if let Some(layer) = self.layers.last() {
            return layer.place();
        }
        match &self.open {
            Some(open) if matches!(open.cancelling, Some(Cancelling::Asked(_))) => Place::Cancel,
            Some(open) if open.composer.focused => Place::Composer,
            Some(open) if open.finder.typing.is_some() => Place::Search,
            Some(_) => Place::Session,
            None if self.sessions.typing.is_some() => Place::Filter,
            None => Place::Sessions,
        }
    }

    /// A number that no request had.
    pub fn ticket(&mut self) -> u64 {
        self.tickets += 1;
        self.tickets
    }

    /// The number that was given last.
    pub fn newest_ticket(&self) -> u64 {
        self.tickets
    }

    /// A request of a layer: its ticket, and the effect.
    pub fn reading(&mut self, ask: ReadAsk) -> (u64, Effect) {
        let ticket = self.ticket();
        (ticket, Effect::Read { ticket, ask })
    }

    /// Asks the terminal to take a text into its clipboard. Whether it does is not told, so nothing says that it did.
    pub fn copy(&mut self, text: &str) -> Vec<Effect> {
        let (text, left_out) = copyable(text);
        let what = match text.contains('\n') || text.len() > 80 {
            true => size(text.len() as u64),
            false => text.clone(),
        };
        self.notice = Some(match left_out {
            0 => format!("given to the terminal's clipboard: {what}"),
            n => format!(
                "given to the terminal's clipboard: {what}, without the last {}",
                size(n as u64)
            ),
        });
        vec![Effect::Copy(text)]
    }

    /// Opens a Session, in the place of the one that is open.
    pub fn go_to(&mut self, session: String) -> Vec<Effect> {
        let mut effects = Vec::new();
        if self.open.as_ref().is_some_and(|open| open.id != session) {
            effects.extend(super::update::close(self));
        }
        if self.open.is_none() {
            effects.extend(super::update::open(self, session));
        }
        effects
    }

    /// Whether the screen is too small to be drawn.
    pub fn is_too_small(&self) -> bool {
        self.size.0 < LEAST.0 || self.size.1 < LEAST.1
    }

    /// Rows of the list that fit: all but header, filter line, column names, notice and footer.
    pub fn list_height(&self) -> usize {
        usize::from(self.size.1).saturating_sub(5).max(1)
    }

    /// Rows of the field in which a message is written.
    pub fn composer_height(&self) -> usize {
        let Some(open) = self.open.as_ref().filter(|open| open.composer.focused) else {
            return 0;
        };
        let rows = usize::from(self.size.1);
        let least = match rows {
            ..40 => 1,
            40..60 => 2,
            _ => 3,
        };
        let width = usize::from(self.size.0).saturating_sub(2).max(1);
        let lines: usize = open
            .composer
            .field
            .text()
            .split('\n')
            .take(rows)
            .map(|line| crate::text::cells(line) / width + 1)
            .sum();
        lines.clamp(least, (rows / 3).max(least))
    }

    /// Rows of the transcript: all but header, title, trace, the line above the message, the message, notice and footer.
    pub fn transcript_height(&self) -> usize {
        usize::from(self.size.1)
            .saturating_sub(6 + self.composer_height())
            .max(1)
    }

    /// Rows of a screen of its own: all but header, title, notice and footer.
    pub fn page_height(&self) -> usize {
        usize::from(self.size.1).saturating_sub(4).max(2)
    }

    /// How lines of a long text are made in a screen of its own.
    pub fn page_look(&self) -> transcript::Look {
        transcript::Look {
            width: usize::from(self.size.0).saturating_sub(2),
            ..self.look()
        }
    }

    /// How lines of a transcript are made now.
    pub fn look(&self) -> transcript::Look {
        transcript::Look {
            width: usize::from(self.size.0) - self.columns().cells(),
            glyphs: self.about.glyphs,
            now_ms: self.now_ms,
        }
    }
}
