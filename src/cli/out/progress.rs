//! Signs of life on standard error: a spinner that appears late and leaves nothing behind.
//!
//! Only on a terminal, only after 250 ms, never with `-q`. With `ACCESSIBLE` set it is lines that are only ever added.
//! Surprising: data and talk on the same terminal must step around it; they ask the [`Spot`] to do so.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::say::{Level, Say};
use super::spinner_line::SpinnerLine;
use super::terminal::Terminal;
use crate::text::{Glyphs, SafeText, truncate};

/// Work that is over sooner shows nothing.
const DELAY: Duration = Duration::from_millis(250);

/// Time between two frames of the spinner.
const TICK: Duration = Duration::from_millis(250);

/// Cells kept free for the spinner and the elapsed time.
const BESIDE_LABEL_CELLS: usize = 12;

/// How progress is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// Not at all.
    Off,
    /// One line for each step.
    Lines,
    /// One line that moves.
    Spinner,
}

impl Mode {
    pub(super) fn of(terminal: &Terminal, level: Level) -> Mode {
        match terminal.stderr.tty && level > Level::Quiet && !terminal.ci {
            false => Mode::Off,
            true if terminal.accessible || terminal.dumb => Mode::Lines,
            true => Mode::Spinner,
        }
    }
}

/// The one place of the terminal where something moves. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct Spot(Arc<Mutex<Option<ProgressBar>>>);

impl Spot {
    /// Runs `write` with the moving line out of the way. `write` only writes: the line stays locked meanwhile, so that
    /// touching a [`Progress`] in there would wait for ever.
    pub fn suspend<R>(&self, write: impl FnOnce() -> R) -> R {
        let bar = self.bar().clone();
        match bar {
            Some(bar) => bar.suspend(write),
            None => write(),
        }
    }

    fn bar(&self) -> MutexGuard<'_, Option<ProgressBar>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Work in progress; ends when dropped.
pub struct Progress {
    shown: Arc<Shown>,
    /// Dropping it wakes the thread that waits for the delay.
    cancel: Option<mpsc::Sender<()>>,
    waiter: Option<JoinHandle<()>>,
}

struct Shown {
    say: Say,
    mode: Mode,
    bar: ProgressBar,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    label: SafeText,
    visible: bool,
}

impl Progress {
    pub(super) fn start(say: &Say, mode: Mode, label: SafeText) -> Progress {
        let shown = Arc::new(Shown::new(say, mode, label));
        if mode == Mode::Off {
            return Progress {
                shown,
                cancel: None,
                waiter: None,
            };
        }
        let (cancel, cancelled) = mpsc::channel();
        let late = Arc::clone(&shown);
        let waiter = std::thread::Builder::new()
            .name("progress".to_owned())
            .spawn(move || {
                if cancelled.recv_timeout(DELAY) == Err(RecvTimeoutError::Timeout) {
                    let line = SpinnerLine::new(late.say.stream().width.unwrap_or(80));
                    let line = ProgressDrawTarget::term_like_with_hz(Box::new(line), 4);
                    late.appear(line);
                }
            })
            // Without a thread there is no spinner, and the work goes on.
            .ok();
        Progress {
            shown,
            cancel: Some(cancel),
            waiter,
        }
    }

    /// Whether something may move on this terminal.
    pub(super) fn moves(&self) -> bool {
        self.shown.mode == Mode::Spinner
    }

    /// Says what is being done now.
    pub fn step(&self, label: impl Into<SafeText>) {
        self.shown.step(label.into());
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.cancel = None;
        if let Some(waiter) = self.waiter.take() {
            // It only waits for the channel or draws once; a panic of it is nothing to pass on.
            let _ = waiter.join();
        }
        self.shown.disappear();
    }
}

impl Shown {
    fn new(say: &Say, mode: Mode, label: SafeText) -> Shown {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        let ticks = match say.stream().glyphs {
            Glyphs::Unicode => "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏ ",
            Glyphs::Ascii | Glyphs::SevenBit => "|/-\\ ",
        };
        let style = ProgressStyle::with_template("{spinner} {msg} {elapsed}")
            .unwrap_or_else(|_| ProgressStyle::default_spinner())
            .tick_chars(ticks);
        bar.set_style(style);
        Shown {
            say: say.clone(),
            mode,
            bar,
            state: Mutex::new(State {
                label,
                visible: false,
            }),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn step(&self, label: SafeText) {
        let mut state = self.state();
        if state.label == label {
            return;
        }
        state.label = label;
        if state.visible {
            self.tell(&state.label);
        }
    }

    /// Makes it visible; called once, after the delay. While something else moves, only that is shown.
    fn appear(&self, target: ProgressDrawTarget) {
        let mut state = self.state();
        if self.mode == Mode::Spinner {
            let mut spot = self.say.spot().bar();
            if spot.is_some() {
                return;
            }
            self.bar.set_draw_target(target);
            *spot = Some(self.bar.clone());
            drop(spot);
            self.bar.enable_steady_tick(TICK);
        }
        state.visible = true;
        self.tell(&state.label);
    }

    fn tell(&self, label: &SafeText) {
        match self.mode {
            Mode::Off => {}
            Mode::Lines => self.say.note(label.clone()),
            Mode::Spinner => {
                let stream = self.say.stream();
                let room = stream
                    .width
                    .unwrap_or(80)
                    .saturating_sub(BESIDE_LABEL_CELLS);
                let label = truncate(&label.shown(stream.glyphs), room, stream.glyphs);
                self.bar.set_message(label.as_str().to_owned());
            }
        }
    }

    fn disappear(&self) {
        if self.state().visible && self.mode == Mode::Spinner {
            *self.say.spot().bar() = None;
            self.bar.finish_and_clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::capture::Capture;
    use super::super::terminal::{ColorChoice, Facts};
    use super::*;
    use crate::cli::config::Vars;
    use indicatif::TermLike;
    use std::io;

    const TTY: Facts = Facts {
        ttys: [true; 3],
        columns: [Some(80), Some(80)],
    };

    fn terminal(facts: Facts, vars: &[(&str, &str)]) -> Terminal {
        Terminal::new(
            facts,
            &Vars::fixed(vars.iter().copied()),
            ColorChoice::Never,
            None,
        )
    }

    fn say(terminal: &Terminal) -> (Say, Capture) {
        let captured = Capture::default();
        let say = Say::new(
            captured.clone(),
            terminal,
            Level::Normal,
            false,
            Spot::default(),
        );
        (say, captured)
    }

    /// A terminal that keeps what is on its only line.
    #[derive(Clone, Debug, Default)]
    struct OneLine(Arc<Mutex<String>>);

    impl OneLine {
        fn text(&self) -> String {
            self.0.lock().expect("one thread").clone()
        }
    }

    impl TermLike for OneLine {
        fn width(&self) -> u16 {
            80
        }
        fn move_cursor_up(&self, _: usize) -> io::Result<()> {
            Ok(())
        }
        fn move_cursor_down(&self, _: usize) -> io::Result<()> {
            Ok(())
        }
        fn move_cursor_right(&self, _: usize) -> io::Result<()> {
            Ok(())
        }
        fn move_cursor_left(&self, _: usize) -> io::Result<()> {
            Ok(())
        }
        fn write_line(&self, s: &str) -> io::Result<()> {
            self.write_str(s)
        }
        fn write_str(&self, s: &str) -> io::Result<()> {
            self.0.lock().expect("one thread").push_str(s);
            Ok(())
        }
        fn clear_line(&self) -> io::Result<()> {
            self.0.lock().expect("one thread").clear();
            Ok(())
        }
        fn flush(&self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn progress_needs_a_terminal_and_somebody_who_looks() {
        let none = Facts::default();
        for (facts, vars, level, expected) in [
            (TTY, &[][..], Level::Normal, Mode::Spinner),
            (TTY, &[], Level::Quiet, Mode::Off),
            (none, &[], Level::Verbose, Mode::Off),
            (TTY, &[("CI", "1")], Level::Normal, Mode::Off),
            (TTY, &[("ACCESSIBLE", "1")], Level::Normal, Mode::Lines),
            (TTY, &[("TERM", "dumb")], Level::Normal, Mode::Lines),
            (none, &[("ACCESSIBLE", "1")], Level::Normal, Mode::Off),
        ] {
            assert_eq!(
                Mode::of(&terminal(facts, vars), level),
                expected,
                "{vars:?} {level:?}"
            );
        }
    }

    #[test]
    fn accessible_progress_only_adds_lines() {
        let (say, captured) = say(&terminal(TTY, &[("ACCESSIBLE", "1")]));
        let shown = Shown::new(&say, Mode::Lines, "claiming".into());
        shown.step("starting".into());
        assert_eq!(captured.text(), "", "nothing before the delay");
        shown.appear(ProgressDrawTarget::hidden());
        shown.step("working".into());
        shown.step("working".into());
        shown.disappear();
        assert_eq!(captured.text(), "starting\nworking\n");
    }

    #[test]
    fn a_spinner_is_cleared_at_the_end_and_steps_aside_for_text() {
        let (say, _) = say(&terminal(TTY, &[]));
        let screen = OneLine::default();
        let shown = Shown::new(&say, Mode::Spinner, "working\x1b[2J".into());
        shown.appear(ProgressDrawTarget::term_like(Box::new(screen.clone())));
        shown.bar.tick();
        assert!(
            screen.text().contains("working\\x1b[2J"),
            "{}",
            screen.text()
        );
        say.spot().suspend(|| assert_eq!(screen.text(), ""));
        shown.disappear();
        assert_eq!(screen.text(), "");
        assert!(say.spot().bar().is_none());
    }

    #[test]
    fn one_spinner_at_a_time() {
        let (say, _) = say(&terminal(TTY, &[]));
        let (first, second) = (OneLine::default(), OneLine::default());
        let outer = Shown::new(&say, Mode::Spinner, "outer".into());
        outer.appear(ProgressDrawTarget::term_like(Box::new(first.clone())));
        let inner = Shown::new(&say, Mode::Spinner, "inner".into());
        inner.appear(ProgressDrawTarget::term_like(Box::new(second.clone())));
        inner.disappear();
        assert_eq!(second.text(), "");
        assert!(say.spot().bar().is_some(), "the outer one goes on");
        outer.disappear();
        assert!(say.spot().bar().is_none());
    }

    #[test]
    fn quick_work_shows_nothing() {
        let (say, captured) = say(&terminal(TTY, &[("ACCESSIBLE", "1")]));
        drop(Progress::start(&say, Mode::Off, "loading".into()));
        assert_eq!(captured.text(), "");
    }
}
