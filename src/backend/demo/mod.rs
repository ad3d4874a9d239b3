//! A made-up deployment: any number of Sessions with everything that a screen can show, without store, network or agent.
//!
//! Everything is computed when it is asked for, from a seed, a number and the clock, so that a million Sessions cost nothing until somebody
//! looks at one, and the same seed shows the same at the same age of the world. Kept is only what somebody did to it: messages, answers,
//! cancels, new Sessions. The newest Sessions show one thing each (see `part`); their Turns go on while they are watched.
//!
//! It is not [`crate::backend::model::demo`], which is a model for real Sessions.

mod deployment;
mod files;
mod inputs;
mod items;
mod part;
mod play;
mod shown;
mod watching;
mod words;

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZero;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use self::part::Part;
use self::play::{Play, Scene};
use self::words::chance;
use crate::api::Metadata;
use crate::engine::error::EngineError;
use crate::engine::ids::{self, Kind, SessionId};
use crate::engine::ports::{Clock, Ids, Submitted};

/// Between the creations of two Sessions.
const APART_MS: u64 = 61_000;

/// See the module.
pub struct Demo {
    shared: Arc<Shared>,
}

struct Shared {
    clock: Arc<dyn Clock>,
    seed: u64,
    /// Ids of Sessions and Agents are derived from this one, so that they lead back to numbers.
    root: SessionId,
    count: u64,
    began_ms: u64,
    pages: AtomicU64,
    meanwhile: Mutex<Meanwhile>,
    changed: Notify,
}

/// What somebody did since the world began.
#[derive(Default)]
struct Meanwhile {
    /// Turns behind those of the past, by Session.
    plays: BTreeMap<u64, Vec<Play>>,
    receipts: BTreeMap<(u64, String), Submitted>,
    created: Vec<Created>,
    deleted: BTreeSet<u64>,
    files_deleted: BTreeSet<String>,
    metadata: BTreeMap<u64, Metadata>,
}

/// A Session that somebody created.
#[derive(Clone)]
struct Created {
    key: String,
    agent: Option<u64>,
    model: String,
    at_ms: u64,
}

/// A Session at an instant.
struct Here {
    number: u64,
    id: SessionId,
    part: Part,
    luck: u64,
    past_turns: u64,
    plays: Vec<Play>,
    scenes: Vec<Scene>,
    created: Option<Created>,
    metadata: Option<Metadata>,
    now_ms: u64,
}

/// Bytes that are no chance at all.
struct Seeded(u64);

impl Ids for Seeded {
    fn fill(&self, bytes: &mut [u8]) {
        for (at, byte) in bytes.iter_mut().enumerate() {
            *byte = (chance(&[self.0, at as u64]) >> 24) as u8;
        }
    }
}

impl Demo {
    /// A world of so many Sessions that begins now. The same seed makes the same one.
    pub fn new(count: NonZero<u32>, seed: u64, clock: Arc<dyn Clock>) -> Demo {
        let count = u64::from(count.get());
        let began_ms = clock.now_ms();
        let shared = Shared {
            clock,
            seed,
            root: SessionId::random(&Seeded(seed)),
            count,
            began_ms,
            pages: AtomicU64::new(0),
            meanwhile: Mutex::default(),
            changed: Notify::new(),
        };
        Demo {
            shared: Arc::new(shared),
        }
    }

    /// Pages of Sessions and of Items that were read so far.
    pub fn pages(&self) -> u64 {
        self.shared.pages.load(Ordering::Relaxed)
    }

    /// The id of the Session with this number; the oldest has 0.
    pub fn session_id(&self, number: u64) -> String {
        self.shared.session_id(number)
    }
}

impl Shared {
    fn session_id(&self, number: u64) -> String {
        ids::derived(Kind::Session, &self.root, number)
    }

    fn agent_id(&self, number: u64) -> String {
        ids::derived(Kind::Agent, &self.root, number)
    }

    fn meanwhile(&self) -> MutexGuard<'_, Meanwhile> {
        // What a panic left there is whole: every change is one assignment.
        self.meanwhile
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn luck(&self, number: u64) -> u64 {
        chance(&[self.seed, number])
    }

    fn part(&self, number: u64) -> Part {
        Part::of(self.seed, self.count, number)
    }

    /// The newest long Session has as many Items as there are Sessions.
    fn longest(&self, number: u64) -> Option<u64> {
        let is_newest = self.count - 1 == number + part::NEWEST_LONG;
        is_newest.then_some(self.count)
    }

    /// Numbers of Sessions are below this.
    fn end(&self, meanwhile: &Meanwhile) -> u64 {
        self.count + meanwhile.created.len() as u64
    }

    /// When the Session with this number was created, if nobody created it meanwhile.
    fn created_ms(&self, number: u64) -> u64 {
        let behind = (self.count - 1).saturating_sub(number);
        self.began_ms.saturating_sub((behind + 2) * APART_MS)
    }

    /// Turns that were at work, or waited, when the world began.
    fn first_plays(&self, number: u64) -> Vec<Play> {
        let luck = self.luck(number);
        let ago_ms = luck % 40_000;
        let (steps, since_ms) = match self.part(number) {
            Part::Writing => (play::writing(luck), self.began_ms.saturating_sub(25_000)),
            Part::Commands => (
                play::ten_commands(luck),
                self.began_ms.saturating_sub(8_000),
            ),
            Part::NeedsResult | Part::NeedsApproval => {
                let active_ms = self.created_ms(number) + APART_MS;
                (play::question(luck), active_ms.saturating_sub(ago_ms))
            }
            _ => return Vec::new(),
        };
        vec![Play::of(steps, since_ms)]
    }

    fn plays(&self, meanwhile: &Meanwhile, number: u64) -> Vec<Play> {
        match meanwhile.plays.get(&number) {
            Some(plays) => plays.clone(),
            None => self.first_plays(number),
        }
    }

    fn here(&self, meanwhile: &Meanwhile, number: u64) -> Here {
        let (part, luck, now_ms) = (self.part(number), self.luck(number), self.clock.now_ms());
        let plays = self.plays(meanwhile, number);
        let created = number
            .checked_sub(self.count)
            .and_then(|at| meanwhile.created.get(at as usize));
        Here {
            number,
            id: SessionId::parse(&self.session_id(number)).unwrap_or_else(|| self.root.clone()),
            part,
            luck,
            past_turns: match created {
                Some(_) => 0,
                None => part.past_turns(luck, self.longest(number)),
            },
            scenes: scenes(&plays, now_ms),
            plays,
            created: created.cloned(),
            metadata: meanwhile.metadata.get(&number).cloned(),
            now_ms,
        }
    }

    /// The number of the Session with this id.
    fn number(&self, meanwhile: &Meanwhile, id: &str) -> Result<u64, EngineError> {
        ids::number_of(Kind::Session, &self.root, id)
            .filter(|number| *number < self.end(meanwhile) && !meanwhile.deleted.contains(number))
            .ok_or_else(|| EngineError::not_found("session", id))
    }

    fn find(&self, id: &str) -> Result<Here, EngineError> {
        let meanwhile = self.meanwhile();
        let number = self.number(&meanwhile, id)?;
        Ok(self.here(&meanwhile, number))
    }

    fn count_page(&self) {
        self.pages.fetch_add(1, Ordering::Relaxed);
    }
}

/// Turns one after the other, at an instant.
fn scenes(plays: &[Play], now_ms: u64) -> Vec<Scene> {
    let mut free_ms = Some(0);
    let mut scenes = Vec::new();
    for play in plays {
        let scene = play.scene(free_ms, now_ms);
        // A Turn that was cancelled before it began holds nobody up.
        free_ms = match (free_ms, scene.ended_ms) {
            (Some(free_ms), Some(ended_ms)) => Some(free_ms.max(ended_ms)),
            _ => None,
        };
        scenes.push(scene);
    }
    scenes
}
