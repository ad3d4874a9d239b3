//! What was done to an account, one deed after the other: done, not done, or nobody knows.

use crate::backend::aws::fault::Fault;

/// How a deed ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It was done.
    Done,
    /// It was not done, and this is why.
    NotDone(Fault),
    /// It may have been done; looking tells.
    MaybeDone(Fault),
}

impl Outcome {
    /// Of an answer.
    pub(super) fn of(answer: Result<(), Fault>) -> Outcome {
        match answer {
            Ok(()) => Outcome::Done,
            Err(fault @ Fault::Uncertain(_)) => Outcome::MaybeDone(fault),
            Err(fault) => Outcome::NotDone(fault),
        }
    }

    /// In a table.
    pub fn name(&self) -> &'static str {
        match self {
            Outcome::Done => "done",
            Outcome::NotDone(_) => "not done",
            Outcome::MaybeDone(_) => "may have been done",
        }
    }

    /// Why it was not done, or is not known to be.
    pub fn fault(&self) -> Option<&Fault> {
        match self {
            Outcome::Done => None,
            Outcome::NotDone(fault) | Outcome::MaybeDone(fault) => Some(fault),
        }
    }
}

/// One deed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deed {
    /// What it was, in words.
    pub what: String,
    /// How it ended.
    pub outcome: Outcome,
}

/// What is told while deeds are done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum News<'n> {
    /// This is being done.
    Begun(&'n str),
    /// This ended.
    Ended(&'n Deed),
}

/// Deeds, and who is told of them. It stops where nothing more can be done.
pub struct Deeds<'t> {
    told: &'t mut (dyn FnMut(News<'_>) + Send),
    done: Vec<Deed>,
}

impl<'t> Deeds<'t> {
    /// None yet.
    pub fn new(told: &'t mut (dyn FnMut(News<'_>) + Send)) -> Deeds<'t> {
        Deeds {
            told,
            done: Vec::new(),
        }
    }

    /// Says what is being done.
    pub(super) fn begin(&mut self, what: &str) {
        (self.told)(News::Begun(what));
    }

    /// Keeps a deed; whether it was done.
    pub(super) fn end(&mut self, what: String, outcome: Outcome) -> bool {
        let done = outcome == Outcome::Done;
        let deed = Deed { what, outcome };
        (self.told)(News::Ended(&deed));
        self.done.push(deed);
        done
    }

    /// Whether nothing else can be done either: nobody is there, or nobody is let in.
    pub fn are_over(&self) -> bool {
        let last = self.done.last().and_then(|deed| deed.outcome.fault());
        matches!(
            last,
            Some(Fault::Unreachable(_) | Fault::Credentials(_) | Fault::Uncertain(_))
        )
    }

    /// All of them.
    pub fn all(self) -> Vec<Deed> {
        self.done
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_lost_answer_leaves_it_open_whether_it_was_done() {
        let words = || "w".to_owned();
        let uncertain = Outcome::of(Err(Fault::Uncertain(words())));
        assert_eq!(uncertain.name(), "may have been done");
        for fault in [Fault::Denied(words()), Fault::Unreachable(words())] {
            assert_eq!(Outcome::of(Err(fault)).name(), "not done");
        }
        assert_eq!(Outcome::of(Ok(())), Outcome::Done);
    }

    #[test]
    fn a_refusal_ends_one_deed_and_an_account_that_is_not_there_ends_all() {
        let mut told = |_: News<'_>| {};
        let mut deeds = Deeds::new(&mut told);
        assert!(!deeds.are_over());
        deeds.end(
            "a".to_owned(),
            Outcome::NotDone(Fault::Denied(String::new())),
        );
        assert!(!deeds.are_over());
        let gone = Outcome::NotDone(Fault::Unreachable(String::new()));
        deeds.end("b".to_owned(), gone);
        assert!(deeds.are_over());
        assert_eq!(deeds.all().len(), 2);
    }
}
