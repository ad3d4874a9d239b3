//! The terminal: taken, drawn on, given back whatever happens. The one part of this module that is not pure.
//!
//! It is given back when the screen is left, on a panic of any thread, on the signals that end a process, and for as long as the program is
//! suspended or an editor is open.

use std::io::{BufWriter, Stdout, Write, stdout};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crossterm::cursor::{MoveTo, Show};
use crossterm::event::{
    DisableBracketedPaste, DisableMouseCapture, EnableBracketedPaste, EnableMouseCapture, Event,
    EventStream, KeyEventKind, MouseButton, MouseEvent, MouseEventKind,
};
use crossterm::terminal::{
    EndSynchronizedUpdate, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode,
    enable_raw_mode,
};
use crossterm::{execute, queue};
use futures_util::StreamExt;
use jiff::tz::TimeZone;
use ratatui::Terminal;
use ratatui::layout::Rect;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{Notify, mpsc};
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until};

use super::copy::{give_to_tmux, osc52};
use super::edit::edit;
use super::keymap::Keymap;
use super::msg::{Effect, Msg};
use super::pager::page;
use super::picture::{CELL, Pictures, Protocol};
use super::pixels::{forget, show};
use super::reading::Doctor;
use super::save::Files;
use super::state::{About, State};
use super::terminal::Thrifty;
use super::update::{start, update};
use super::view::{self, Placed};
use super::world::{Workers, World};
use crate::engine::ports::{Deployment, Operator};
use crate::text::TimeStyle;

/// Between two frames.
const FRAME: Duration = Duration::from_millis(16);
/// Between two looks at the clock.
const TICK: Duration = Duration::from_secs(1);
/// A program that was not stopped by its own request goes on after so long.
const NOT_STOPPED: Duration = Duration::from_millis(500);
/// A frame of this size is written in one piece.
const FRAME_BYTES: usize = 32 << 10;
/// Messages that wait for the screen.
const MESSAGES: usize = 256;

/// The terminal is ours.
static TAKEN: AtomicBool = AtomicBool::new(false);

/// Why the screen could not be shown, or not any longer.
#[derive(Debug, thiserror::Error)]
pub enum ScreenError {
    /// The terminal does not do what it is told.
    #[error("the terminal can't be used: {0}")]
    Terminal(#[from] std::io::Error),
    /// A mistake of ours; it was printed.
    #[error("the screen was left because of a mistake in it")]
    Panicked,
}

/// How the screen was left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Left {
    /// A person left it.
    Quit,
    /// A signal ended it, or the terminal is gone.
    Ended,
    /// A person wants to see the Sessions of this profile.
    Profile(String),
}

/// How the screen is opened.
pub struct Options {
    /// What does not change.
    pub about: About,
    /// Colours may be used.
    pub colour: bool,
    /// The Session to open.
    pub session: Option<String>,
    /// Other profiles, by name.
    pub profiles: Vec<String>,
    /// Said at first.
    pub notice: Option<String>,
    /// Random, so that no key and no file made of it was ever used.
    pub seed: String,
    /// A command line for a shell.
    pub editor: Option<String>,
    /// The records, if they are at hand.
    pub operator: Option<Arc<dyn Operator>>,
    /// Looks whether all is in order.
    pub doctor: Doctor,
    /// Puts Artifacts into files.
    pub files: Files,
    /// A command line for a shell that shows what comes on its standard input.
    pub pager: String,
    /// What a person changed in the table of keys.
    pub keymap: Keymap,
    /// The mouse is taken from the beginning on.
    pub mouse: bool,
    /// How times are shown at first.
    pub time_style: TimeStyle,
    /// Where the clock of the person is.
    pub zone: TimeZone,
    /// The terminal is one of tmux's.
    pub tmux: bool,
    /// Unix milliseconds now.
    pub now_ms: fn() -> u64,
}

/// Shows Sessions until it is left.
///
/// # Errors
/// The terminal can't be used, or a mistake of ours. It is given back in any case.
pub async fn run(
    of: Arc<dyn Deployment>,
    workers: Workers,
    options: Options,
) -> Result<Left, ScreenError> {
    let panicked = give_back_on_panic();
    let (mut ends, mut goes_on) = listen()?;
    let (tell, mut told) = mpsc::channel(MESSAGES);
    let mut screen = Screen::take(options.colour)?;
    let (size, now_ms) = (screen.size()?, (options.now_ms)());
    let mut state = State::new(options.about, size, now_ms, options.seed.clone());
    (state.keymap, state.mouse) = (options.keymap, options.mouse);
    (state.time_style, state.zone) = (options.time_style, options.zone);
    (state.profiles, state.notice) = (options.profiles, options.notice);
    let mut world = World::new(of, tell, workers)
        .with_files(options.files)
        .with_operator(options.operator, options.doctor);
    let mut effects = start(&mut state, options.session);
    if state.mouse {
        effects.push(Effect::Mouse(true));
    }
    let mut tick = interval(TICK);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut next_frame = Instant::now();
    let mut edits = 0_u64;
    loop {
        for effect in std::mem::take(&mut effects) {
            match world.perform(effect) {
                Some(Effect::Quit) => return Ok(Left::Quit),
                Some(Effect::Profile(name)) => return Ok(Left::Profile(name)),
                Some(Effect::Redraw) => (screen.forgotten, state.dirty) = (true, true),
                Some(Effect::Copy(text)) => {
                    let mut out = stdout();
                    out.write_all(osc52(&text).as_bytes())?;
                    out.flush()?;
                    if options.tmux {
                        give_to_tmux(&text).await;
                    }
                }
                Some(Effect::Mouse(take)) => screen.take_mouse(take)?,
                Some(Effect::Page(text)) => {
                    screen.give_back();
                    let paged = tokio::select! {
                        paged = page(&options.pager, &text) => paged,
                        () = ended(&mut ends) => return Ok(Left::Ended),
                    };
                    screen.take_again()?;
                    effects.extend(update(&mut state, Msg::Paged(paged)));
                }
                Some(Effect::Suspend) => {
                    screen.give_back();
                    suspend(&mut goes_on).await?;
                    screen.take_again()?;
                    state.dirty = true;
                }
                Some(Effect::Edit(text)) => {
                    screen.give_back();
                    edits += 1;
                    let name = format!("{}-draft-{edits}", options.seed);
                    let edited = tokio::select! {
                        edited = edit(options.editor.as_deref(), &text, &name) => edited,
                        () = ended(&mut ends) => return Ok(Left::Ended),
                    };
                    screen.take_again()?;
                    effects.extend(update(&mut state, Msg::Edited(edited)));
                }
                _ => {}
            }
        }
        if !effects.is_empty() {
            continue;
        }
        let msg = tokio::select! {
            biased;
            () = panicked.notified() => return Err(ScreenError::Panicked),
            () = ended(&mut ends) => return Ok(Left::Ended),
            _ = goes_on.recv() => {
                screen.take_again()?;
                state.dirty = true;
                continue;
            }
            () = sleep_until(next_frame), if state.dirty => {
                effects = screen.draw(&mut state)?;
                next_frame = Instant::now() + FRAME;
                continue;
            }
            event = screen.event() => match event {
                Some(Ok(Event::Key(key))) if key.kind != KeyEventKind::Release => Msg::Key(key),
                Some(Ok(Event::Paste(text))) => Msg::Paste(text),
                Some(Ok(Event::Resize(columns, rows))) => Msg::Resize(columns, rows),
                Some(Ok(Event::Mouse(mouse))) => match meant(mouse) {
                    Some(msg) => msg,
                    None => continue,
                },
                Some(Ok(_)) => continue,
                Some(Err(_)) | None => return Ok(Left::Ended),
            },
            Some(msg) = told.recv() => msg,
            _ = tick.tick() => Msg::Tick((options.now_ms)()),
        };
        effects = update(&mut state, msg);
    }
}

/// What the mouse means, if anything.
fn meant(mouse: MouseEvent) -> Option<Msg> {
    match mouse.kind {
        MouseEventKind::ScrollUp => Some(Msg::Wheel(true)),
        MouseEventKind::ScrollDown => Some(Msg::Wheel(false)),
        MouseEventKind::Down(MouseButton::Left) => Some(Msg::Click(mouse.row)),
        _ => None,
    }
}

/// Stops this program, with all that a shell started with it, until the shell continues it.
async fn suspend(goes_on: &mut Signal) -> Result<(), ScreenError> {
    rustix::process::kill_current_process_group(rustix::process::Signal::TSTP)
        .map_err(std::io::Error::from)?;
    // Another thread may be the one that takes the signal, so this one may run on for a moment.
    let _ = tokio::time::timeout(NOT_STOPPED, goes_on.recv()).await;
    Ok(())
}

/// The signals that end a process, and the one with which it goes on after it was stopped.
fn listen() -> Result<([Signal; 3], Signal), ScreenError> {
    let ends = [
        signal(SignalKind::terminate())?,
        signal(SignalKind::hangup())?,
        signal(SignalKind::interrupt())?,
    ];
    Ok((ends, signal(SignalKind::from_raw(libc::SIGCONT))?))
}

async fn ended(ends: &mut [Signal; 3]) {
    let [terminate, hangup, interrupt] = ends;
    tokio::select! {
        _ = terminate.recv() => {}
        _ = hangup.recv() => {}
        _ = interrupt.recv() => {}
    }
}

/// The terminal, given back when this is dropped.
struct Screen {
    terminal: Terminal<Thrifty<BufWriter<Stdout>>>,
    /// Not there while somebody else reads the terminal.
    events: Option<EventStream>,
    colour: bool,
    mouse: bool,
    /// What is on the terminal is not known.
    forgotten: bool,
    /// The image that the terminal shows as pixels.
    placed: Option<Placed>,
}

impl Screen {
    fn take(colour: bool) -> Result<Screen, ScreenError> {
        take_terminal()?;
        let out = BufWriter::with_capacity(FRAME_BYTES, stdout());
        let terminal = Terminal::new(Thrifty::new(out));
        let terminal = terminal.inspect_err(|_| give_back_terminal())?;
        Ok(Screen {
            terminal,
            events: Some(EventStream::new()),
            colour,
            mouse: false,
            forgotten: true,
            placed: None,
        })
    }

    fn take_mouse(&mut self, take: bool) -> Result<(), ScreenError> {
        self.mouse = take;
        match take {
            true => execute!(stdout(), EnableMouseCapture)?,
            false => execute!(stdout(), DisableMouseCapture)?,
        }
        Ok(())
    }

    fn size(&self) -> Result<(u16, u16), ScreenError> {
        let size = self.terminal.size()?;
        Ok((size.width, size.height))
    }

    fn give_back(&mut self) {
        self.events = None;
        give_back_terminal();
    }

    fn take_again(&mut self) -> Result<(), ScreenError> {
        take_terminal()?;
        if self.events.is_none() {
            self.events = Some(EventStream::new());
        }
        if self.mouse {
            self.take_mouse(true)?;
        }
        self.forgotten = true;
        Ok(())
    }

    async fn event(&mut self) -> Option<std::io::Result<Event>> {
        match &mut self.events {
            Some(events) => events.next().await,
            None => std::future::pending().await,
        }
    }

    /// Draws the state, in the size that the terminal has now.
    fn draw(&mut self, state: &mut State) -> Result<Vec<Effect>, ScreenError> {
        let (columns, rows) = self.size()?;
        let mut effects = Vec::new();
        if state.size != (columns, rows) {
            effects = update(state, Msg::Resize(columns, rows));
            effects.retain(|effect| *effect != Effect::Redraw);
            self.forgotten = true;
        }
        state.dirty = false;
        let was_forgotten = std::mem::take(&mut self.forgotten);
        if was_forgotten {
            state.cell = cell_pixels().unwrap_or(CELL);
            // `clear` would ask the terminal where its cursor is, and wait for an answer that the reader of events may take.
            self.terminal.resize(Rect::new(0, 0, columns, rows))?;
        }
        let placed = self.frame(state)?;
        if let Pictures::Pixels(by) = state.about.pictures {
            self.place(state, by, placed, was_forgotten)?;
        }
        Ok(effects)
    }

    /// Draws a frame; answers which image belongs where.
    fn frame(&mut self, state: &State) -> Result<Option<Placed>, ScreenError> {
        let colour = self.colour;
        let mut placed = None;
        self.terminal.draw(|frame| {
            let drawn = view::draw(state, colour, frame.buffer_mut());
            if let Some(cursor) = drawn.cursor {
                frame.set_cursor_position(cursor);
            }
            placed = drawn.placed;
        })?;
        Ok(placed)
    }

    /// Shows the image that belongs to the frame, and takes away the one that does not.
    fn place(
        &mut self,
        state: &mut State,
        by: Protocol,
        wanted: Option<Placed>,
        was_forgotten: bool,
    ) -> Result<(), ScreenError> {
        let before = self.placed.take();
        let stays = match (&before, &wanted) {
            (Some(before), Some(wanted)) => before.is(wanted) && !was_forgotten,
            (None, None) => true,
            _ => false,
        };
        if stays {
            self.placed = before;
            return Ok(());
        }
        let mut out = stdout();
        if before.is_some() {
            out.write_all(forget(by).as_bytes())?;
            if !was_forgotten {
                // Pixels on cells that did not change are gone only with them.
                let (columns, rows) = self.size()?;
                self.terminal.resize(Rect::new(0, 0, columns, rows))?;
                self.frame(state)?;
            }
        }
        let Some(wanted) = wanted else {
            return Ok(());
        };
        let cells = (wanted.area.width, wanted.area.height);
        match show(&wanted.picture, by, cells, state.cell) {
            Ok(bytes) => {
                queue!(out, MoveTo(wanted.area.x, wanted.area.y))?;
                out.write_all(bytes.as_bytes())?;
                out.flush()?;
            }
            Err(why) => state.notice = Some(format!("the image can't be shown: {why}")),
        }
        self.placed = Some(wanted);
        Ok(())
    }
}

/// Pixels of a cell, where the terminal tells.
fn cell_pixels() -> Option<(u16, u16)> {
    let size = crossterm::terminal::window_size().ok()?;
    let of = |pixels: u16, cells: u16| pixels.checked_div(cells).filter(|pixels| *pixels > 0);
    Some((of(size.width, size.columns)?, of(size.height, size.rows)?))
}

impl Drop for Screen {
    fn drop(&mut self) {
        self.give_back();
    }
}

fn take_terminal() -> Result<(), ScreenError> {
    TAKEN.store(true, Ordering::SeqCst);
    let taken = enable_raw_mode()
        .and_then(|()| execute!(stdout(), EnterAlternateScreen, EnableBracketedPaste));
    taken.inspect_err(|_| give_back_terminal())?;
    Ok(())
}

/// The terminal as it was. Whatever fails, the rest is tried all the same.
fn give_back_terminal() {
    if !TAKEN.swap(false, Ordering::SeqCst) {
        return;
    }
    let mut out = stdout();
    // A terminal whose mouse was not taken is not changed by giving it back.
    let _ = queue!(
        out,
        EndSynchronizedUpdate,
        DisableMouseCapture,
        DisableBracketedPaste,
        LeaveAlternateScreen,
        Show
    );
    let _ = out.flush();
    let _ = disable_raw_mode();
}

/// A panic is printed on a terminal that is as it was. Answers what is told of one.
fn give_back_on_panic() -> Arc<Notify> {
    let panicked = Arc::new(Notify::new());
    let (tell, before) = (Arc::clone(&panicked), std::panic::take_hook());
    std::panic::set_hook(Box::new(move |info| {
        give_back_terminal();
        before(info);
        tell.notify_one();
    }));
    panicked
}
