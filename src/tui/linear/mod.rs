//! The screen without a screen (`ACCESSIBLE=1`): lines that are only ever added, and lines that are typed. For screen readers, Braille and terminals
//! that can't move their cursor.
//!
//! State, decisions and world are those of the screen; only what is drawn is told instead ([`tell`]), and what is a key there is a line
//! here ([`ask`]).

pub mod ask;
mod question;
pub mod tell;

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, BufReader, Lines, Stdin};
use tokio::sync::mpsc;
use tokio::time::{MissedTickBehavior, interval};

use self::tell::Told;
use super::copy::{give_to_tmux, osc52};
use super::msg::{Effect, Msg};
use super::screen::{Left, Options, ScreenError};
use super::state::State;
use super::update::{start, update};
use super::world::{Workers, World};
use crate::engine::ports::Deployment;

/// Between two looks at the clock.
const TICK: Duration = Duration::from_secs(1);
/// Messages that wait for the screen.
const MESSAGES: usize = 256;
/// Columns and rows of the screen that nobody sees: lines are not cut, and a page of Sessions is read at once.
const SIZE: (u16, u16) = (2_000, 60);

/// Tells Sessions until it is left.
///
/// # Errors
/// Standard output can't be written.
pub async fn run(
    of: Arc<dyn Deployment>,
    workers: Workers,
    options: Options,
) -> Result<Left, ScreenError> {
    let (tell, mut news) = mpsc::channel(MESSAGES);
    let mut state = State::new(options.about, SIZE, (options.now_ms)(), options.seed);
    let mut world = World::new(of, tell, workers);
    state.notice = options.notice;
    let mut effects = start(&mut state, options.session);
    let mut typed = BufReader::new(tokio::io::stdin()).lines();
    let mut told = Told::default();
    let mut tick = interval(TICK);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    say(&[ask::WELCOME.to_owned()])?;
    loop {
        for effect in std::mem::take(&mut effects) {
            match world.perform(effect) {
                Some(Effect::Quit) => return Ok(Left::Quit),
                Some(Effect::Profile(name)) => return Ok(Left::Profile(name)),
                Some(Effect::Copy(text)) => {
                    write!(std::io::stdout(), "{}", osc52(&text))?;
                    if options.tmux {
                        give_to_tmux(&text).await;
                    }
                }
                _ => {}
            }
        }
        say(&told.news(&state))?;
        effects = tokio::select! {
            line = next(&mut typed) => match line {
                Some(line) => {
                    let answer = ask::typed(&mut state, &mut told, &line);
                    say(&answer.says)?;
                    answer.effects
                }
                None => return Ok(Left::Ended),
            },
            Some(msg) = news.recv() => update(&mut state, msg),
            _ = tick.tick() => update(&mut state, Msg::Tick((options.now_ms)())),
        };
    }
}

/// The next line that is typed; `None`: none comes any more.
async fn next(typed: &mut Lines<BufReader<Stdin>>) -> Option<String> {
    typed.next_line().await.ok().flatten()
}

fn say(lines: &[String]) -> Result<(), ScreenError> {
    if lines.is_empty() {
        return Ok(());
    }
    let mut out = std::io::stdout().lock();
    for line in lines {
        writeln!(out, "{line}")?;
    }
    Ok(out.flush()?)
}
