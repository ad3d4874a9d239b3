//! Everything that can go wrong, and how often it does in one world.

use rat_things::backend::memory::ids::SeededIds;

/// One kind of trouble.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// A program is killed where it is.
    Kill,
    /// A program stops, and goes on later.
    Freeze,
    /// A call takes long.
    Stall,
    /// A commit does not happen: the store is away.
    StoreAway,
    /// A commit does not happen: the store is saturated.
    StoreThrottled,
    /// A commit happens, and its answer is lost.
    AnswerLost,
    /// A commit does not happen, and nobody is told.
    CommitLost,
    /// A read does not answer.
    ReadFails,
    /// Bytes are not stored.
    BlobAway,
    /// Bytes are stored by half.
    BlobTorn,
    /// Bytes are stored, and the answer is lost.
    BlobAnswerLost,
    /// Bytes read back damaged, once.
    BlobCorrupt,
    /// Bytes are not found, once.
    BlobMissing,
    /// A wake-up is lost.
    RingLost,
    /// A worker dies and nobody is told.
    DeathUnnoticed,
    /// A launch takes long after it was confirmed.
    LaunchLate,
    /// A worker gets the same grant twice.
    LaunchTwice,
    /// A launch is confirmed and never happens.
    LaunchNever,
    /// A launch happens or not, and nobody knows.
    LaunchUnknown,
    /// A launch does not happen, and that is said.
    LaunchFails,
    /// For a while nobody can tell whether a worker lives.
    OutOfSight,
    /// Nobody can tell whether a worker was stopped.
    StopUnknown,
    /// No worker has room.
    NoRoom,
    /// All clocks jump.
    ClockJumps,
    /// A program's clock is not like the others'.
    ClockDiffers,
    /// A model can't answer at all.
    ModelFails,
    /// A model asks to come back later.
    ModelBusy,
    /// A model says nothing for long.
    ModelStalls,
    /// A model breaks off in the middle, after it has said something.
    ModelBreaks,
    /// A tool takes very long.
    ToolHangs,
    /// A tool, or an agent, goes on after it was cancelled.
    CancelIgnored,
    /// An environment is lost.
    EnvironmentLost,
    /// A worker is asked to leave.
    WorkerLeaves,
    /// A daemon is stopped in good order, and started again.
    DaemonRestarts,
    /// A notification does not arrive.
    CourierFails,
    /// A notification may have arrived.
    CourierUncertain,
    /// A destination says nothing.
    CourierHangs,
}

/// Every kind, with how often it happens at its occasions where it happens at all, in 10,000.
pub const ALL: &[(Fault, u32)] = &[
    (Fault::Kill, 12),
    (Fault::Freeze, 8),
    (Fault::Stall, 60),
    (Fault::StoreAway, 150),
    (Fault::StoreThrottled, 150),
    (Fault::AnswerLost, 250),
    (Fault::CommitLost, 100),
    (Fault::ReadFails, 80),
    (Fault::BlobAway, 300),
    (Fault::BlobTorn, 300),
    (Fault::BlobAnswerLost, 300),
    (Fault::BlobCorrupt, 150),
    (Fault::BlobMissing, 100),
    (Fault::RingLost, 1_500),
    (Fault::DeathUnnoticed, 4_000),
    (Fault::LaunchLate, 500),
    (Fault::LaunchTwice, 500),
    (Fault::LaunchNever, 300),
    (Fault::LaunchUnknown, 500),
    (Fault::LaunchFails, 500),
    (Fault::OutOfSight, 700),
    (Fault::StopUnknown, 1_500),
    (Fault::NoRoom, 500),
    (Fault::ClockJumps, 600),
    (Fault::ClockDiffers, 3_000),
    (Fault::ModelFails, 150),
    (Fault::ModelBusy, 400),
    (Fault::ModelStalls, 250),
    (Fault::ModelBreaks, 300),
    (Fault::ToolHangs, 800),
    (Fault::CancelIgnored, 3_000),
    (Fault::EnvironmentLost, 300),
    (Fault::WorkerLeaves, 900),
    (Fault::DaemonRestarts, 700),
    (Fault::CourierFails, 2_000),
    (Fault::CourierUncertain, 1_000),
    (Fault::CourierHangs, 700),
];

/// How often each kind happens in one world, in 10,000.
#[derive(Clone, Debug)]
pub struct Rates(Vec<u32>);

impl Rates {
    /// Nothing ever goes wrong.
    pub fn none() -> Rates {
        Rates(vec![0; ALL.len()])
    }

    /// Only this ever goes wrong, and always.
    pub fn only(fault: Fault) -> Rates {
        let mut rates = Rates::none();
        rates.0[fault as usize] = 10_000;
        rates
    }

    /// A world of its own: some kinds never happen in it, some often.
    pub fn drawn(chance: &SeededIds) -> Rates {
        let wildness = [1, 1, 2, 2, 4, 4, 12][chance.below(7) as usize];
        let drawn = ALL.iter().map(|(_, often)| match chance.below(4) {
            0 => 0,
            1 | 2 => often * wildness / 2,
            _ => often * wildness,
        });
        Rates(drawn.collect())
    }

    /// In 10,000 occasions.
    pub fn of(&self, fault: Fault) -> u32 {
        self.0[fault as usize]
    }
}

#[test]
fn every_kind_stands_at_its_place() {
    for (at, (fault, _)) in ALL.iter().enumerate() {
        assert_eq!(*fault as usize, at, "{fault:?}");
    }
}
