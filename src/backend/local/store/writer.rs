//! The one thread that writes: it takes what waits, takes its turn among processes, commits the group, then answers.

use std::sync::{Arc, Mutex};

use super::faults;
use super::open::Place;
use super::pen::{Pen, answer, lock};
use super::queue::Queue;

/// The thread's world.
pub(super) struct Writer {
    place: Arc<Place>,
    queue: Arc<Queue>,
    pen: Arc<Mutex<Pen>>,
}

impl Writer {
    /// Opens nothing yet.
    pub(super) fn new(place: Arc<Place>, queue: Arc<Queue>, pen: Arc<Mutex<Pen>>) -> Writer {
        Writer { place, queue, pen }
    }

    /// The thread's life: it ends when the queue is closed and empty.
    pub(super) fn run(self) {
        let _ending = Ending(&self.queue);
        while self.queue.wait() {
            self.gather();
            let written = lock(&self.pen).group(&self.queue);
            if let Err(e) = written {
                let error = faults::refused_io(&e, &self.place.path);
                for pending in self.queue.take_all() {
                    answer(pending.answer, Err(error.clone()));
                }
            }
        }
    }

    /// Waits for company, if some is about to come.
    fn gather(&self) {
        if !self.place.options.gather {
            return;
        }
        let (patience, company) = {
            let pace = &lock(&self.pen).pace;
            (pace.patience(), pace.company())
        };
        if let Some(patience) = patience {
            self.queue.gather(company, patience.quiet, patience.most);
        }
    }
}

/// Whatever ends the thread, nobody may wait for it any longer: an answer that is dropped reads as unknown.
struct Ending<'a>(&'a Queue);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.close();
        drop(self.0.take_all());
    }
}
