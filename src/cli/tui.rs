//! `tui`: the screen over the profile's Sessions, or over made-up ones.

use std::num::NonZero;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use jiff::tz::TimeZone;
use tokio::sync::{mpsc, oneshot};

use super::Context;
use super::artifacts::into_file;
use super::compose::{self, World};
use super::config::Settings;
use super::deployed::Deployed;
use super::doctor;
use super::out::{CliError, Console, Facts, OutputArgs, codes};
use super::resolve;
use super::sessions::explain::explain;
use super::sessions::export::write_archive;
use crate::text::Glyphs;
use crate::tui::keymap::Keymap;
use crate::tui::linear;
use crate::tui::picture::{Pictures, Protocol};
use crate::tui::reading::{Found, Question};
use crate::tui::records::{Check, Verdict};
use crate::tui::save::{Files, NotSaved};
use crate::tui::screen::{self, Left, Options, ScreenError};
use crate::tui::state::About;

/// Browse Sessions, follow one live, write to its agent.
#[derive(Debug, Default, clap::Args)]
#[command(after_help = "Examples:
  rat-things tui
  rat-things tui sess_7f --ascii
  rat-things tui --demo 100k")]
pub struct Args {
    /// The Session to open: its id, or the beginning of it
    session: Option<String>,
    /// Draw marks and lines in ASCII
    #[arg(long)]
    ascii: bool,
    /// Show so many made-up Sessions (100, 100k, 1m) instead: nothing is read, sent or kept
    #[arg(long, value_name = "SESSIONS", value_parser = count)]
    demo: Option<NonZero<u32>>,
}

/// A number that may end in `k` or `m`.
fn count(typed: &str) -> Result<NonZero<u32>, String> {
    let (digits, times) = match typed.to_ascii_lowercase().strip_suffix(['k', 'm']) {
        Some(digits) if typed.ends_with(['k', 'K']) => (digits.to_owned(), 1_000),
        Some(digits) => (digits.to_owned(), 1_000_000),
        None => (typed.to_owned(), 1),
    };
    let number = digits.parse::<u32>().ok();
    let number = number.and_then(|number| number.checked_mul(times));
    number
        .filter(|number| *number <= DEMO_SESSIONS_MAX)
        .and_then(NonZero::new)
        .ok_or_else(|| "a number from 1 to 100m, as 500, 100k or 1m".to_owned())
}

/// Made-up Sessions at most.
const DEMO_SESSIONS_MAX: u32 = 100_000_000;

/// Whether there is a terminal that a screen can be drawn on.
pub fn can_be_shown(console: &Console) -> bool {
    let terminal = &console.terminal;
    terminal.stdin_tty && terminal.stdout.tty && (terminal.accessible || !terminal.dumb)
}

/// Runs the command.
pub async fn run(context: &mut Context, mut args: Args) -> Result<(), CliError> {
    if !can_be_shown(&context.console) {
        let message =
            "a screen needs a terminal that can move its cursor, on standard input and output";
        return Err(CliError::usage(message).hint("`rat-things sessions list` prints instead"));
    }
    let mut notice = None;
    // The settings to go back to when those of another profile do not work.
    let mut before: Option<(Settings, Args)> = None;
    loop {
        let left = match (open(context, &args, notice.take()).await, before.take()) {
            (Ok(left), _) => left,
            (Err(error), Some((settings, earlier))) if error.code != codes::BUG.id => {
                notice = Some(format!(
                    "profile {}: {error}",
                    context.settings.profile.value
                ));
                (context.settings, args) = (settings, earlier);
                continue;
            }
            (Err(error), _) => return Err(error),
        };
        let name = match left {
            Left::Quit => return Ok(()),
            Left::Ended => return Err(CliError::interrupted()),
            Left::Profile(name) => name,
        };
        match context.settings.of_profile(&context.vars, &name) {
            Ok(settings) => {
                let earlier = std::mem::replace(&mut context.settings, settings);
                let ascii = args.ascii;
                let other = Args {
                    ascii,
                    ..Args::default()
                };
                before = Some((earlier, std::mem::replace(&mut args, other)));
            }
            Err(error) => notice = Some(format!("profile {name}: {error}")),
        }
    }
}

/// Shows the Sessions of the profile until the screen is left.
async fn open(
    context: &mut Context,
    args: &Args,
    notice: Option<String>,
) -> Result<Left, CliError> {
    let of = match args.demo {
        Some(sessions) => compose::demo(sessions),
        None => compose::deployment(&context.settings).await?,
    };
    let session = match &args.session {
        Some(typed) => Some(resolve::session(&*of, typed).await?),
        None => None,
    };
    let stdout = context.console.terminal.stdout;
    let glyphs = match (args.ascii, stdout.glyphs) {
        (true, Glyphs::Unicode) => Glyphs::Ascii,
        (_, glyphs) => glyphs,
    };
    let settings = &context.settings;
    let (doctor, looks) = mpsc::channel(1);
    let keymap = Keymap::parse(&settings.ui_keys).map_err(|why| {
        CliError::usage(format!("ui.keys: {why}"))
            .hint("docs/keys.md has the names of all actions; `?` in the screen shows their keys")
    })?;
    let options = Options {
        about: About {
            profile: match args.demo {
                Some(_) => "demo".to_owned(),
                None => settings.profile.value.clone(),
            },
            place: match (args.demo, &settings.server) {
                (Some(sessions), _) => format!("{sessions} made-up Sessions"),
                (None, Some(server)) => server.base_url.clone(),
                (None, None) => match of.local().map(|local| &local.world) {
                    Some(World::Aws(aws)) => aws.caller.clone(),
                    _ => settings.data_dir.value.display().to_string(),
                },
            },
            read_only: settings.read_only,
            glyphs,
            default_model: match args.demo {
                Some(_) => Some("demo".to_owned()),
                None => settings.default_model(),
            },
            pictures: pictures(&settings.ui_images, |name| context.vars.text(name)),
        },
        colour: stdout.colour,
        session,
        profiles: others(settings, args.demo.is_some()),
        notice,
        seed: compose::random_key(),
        editor: ["VISUAL", "EDITOR"]
            .iter()
            .find_map(|name| context.vars.text(name)),
        operator: of.operator(settings),
        doctor,
        files: files(context.vars.path("HOME")),
        pager: ["RAT_THINGS_PAGER", "PAGER"]
            .iter()
            .find_map(|name| context.vars.text(name))
            .unwrap_or_else(|| "less -R".to_owned()),
        keymap,
        mouse: settings.ui_mouse,
        time_style: settings.ui.time,
        zone: TimeZone::system(),
        tmux: context.vars.text("TMUX").is_some(),
        now_ms: compose::now_ms,
    };
    let (workers, asked) = mpsc::channel(1);
    let accessible = context.console.terminal.accessible;
    let screen = async {
        match accessible {
            true => linear::run(of.port(), workers, options).await,
            false => screen::run(of.port(), workers, options).await,
        }
    };
    // What commands say goes to the screen, instead of the terminal that the screen is drawn on.
    let said = Said::default();
    let quiet = Console::over(
        std::io::sink(),
        said.clone(),
        Facts::default(),
        &OutputArgs::default(),
        &context.settings.ui,
        &context.vars,
        compose::now_ms(),
    );
    let console = std::mem::replace(&mut context.console, quiet);
    let left = tokio::select! {
        left = screen => left,
        () = serve(context, &of, &said, asked, looks) => Ok(Left::Ended),
    };
    context.console = console;
    match left {
        Ok(left) => Ok(left),
        Err(ScreenError::Terminal(error)) => {
            let message = format!("the terminal can't be used: {error}");
            Err(CliError::new(codes::UNAVAILABLE, message).because(error))
        }
        Err(error @ ScreenError::Panicked) => Err(CliError::bug(error.to_string())),
    }
}

/// Profiles that can be changed to.
fn others(settings: &Settings, is_demo: bool) -> Vec<String> {
    let all = settings.profiles.iter();
    let is_other = |name: &&String| is_demo || **name != settings.profile.value;
    all.filter(is_other).cloned().collect()
}

/// How this terminal shows images: as it was chosen, or by what it says of itself. Nothing is asked of it: what answers would come among the keys.
fn pictures(chosen: &str, var: impl Fn(&str) -> Option<String>) -> Pictures {
    let is = |name: &str, words: &[&str]| {
        var(name).is_some_and(|value| words.iter().any(|word| value.contains(word)))
    };
    let blocks = match is("COLORTERM", &["truecolor", "24bit"]) {
        true => Pictures::FineBlocks,
        false => Pictures::Blocks,
    };
    match chosen {
        "kitty" => Pictures::Pixels(Protocol::Kitty),
        "iterm2" => Pictures::Pixels(Protocol::Iterm2),
        "sixel" => Pictures::Pixels(Protocol::Sixel),
        "words" => Pictures::Words,
        "blocks" => blocks,
        // A multiplexer keeps the variables of the terminal around it, and passes none of this on.
        _ if var("TMUX").is_some() || var("ZELLIJ").is_some() || var("STY").is_some() => blocks,
        _ if is("TERM", &["kitty", "ghostty"]) || is("TERM_PROGRAM", &["ghostty"]) => {
            Pictures::Pixels(Protocol::Kitty)
        }
        _ if is("TERM_PROGRAM", &["iTerm.app", "WezTerm", "mintty"]) => {
            Pictures::Pixels(Protocol::Iterm2)
        }
        _ if is("TERM", &["foot", "mlterm", "contour"]) => Pictures::Pixels(Protocol::Sixel),
        _ => blocks,
    }
}

/// Puts Artifacts into files, as `artifacts get` does. `~/` is the home directory.
fn files(home: Option<PathBuf>) -> Files {
    Arc::new(move |mut content, ask, progress| {
        let to = match (ask.to.strip_prefix("~/"), &home) {
            (Some(rest), Some(home)) => home.join(rest),
            _ => PathBuf::from(&ask.to),
        };
        Box::pin(async move {
            // Whoever looks is told of the newest number only.
            let written = |bytes| {
                let _ = progress.try_send(bytes);
            };
            match into_file(&mut content, &to, ask.replace, written).await {
                Ok(path) => Ok(path.display().to_string()),
                Err(error) if error.code == codes::CONFLICT.id => Err(NotSaved::Taken),
                Err(error) => Err(NotSaved::Because(error.to_string())),
            }
        })
    })
}

/// Makes sure that somebody works on what was accepted, and looks whether all is in order, as often as it is asked for.
async fn serve(
    context: &mut Context,
    of: &Deployed,
    said: &Said,
    mut asked: mpsc::Receiver<oneshot::Sender<Option<String>>>,
    mut looks: mpsc::Receiver<(Question, oneshot::Sender<Found>)>,
) {
    loop {
        // The screen may have been left when an answer is given.
        tokio::select! {
            Some(answer) = asked.recv() => {
                of.ensure_daemon(context).await;
                let _ = answer.send(said.take_line());
            }
            Some((question, answer)) = looks.recv() => {
                let _ = answer.send(look_into(context, of, question).await);
            }
            else => return std::future::pending().await,
        }
    }
}

/// What `doctor` and `sessions explain` say.
async fn look_into(context: &Context, of: &Deployed, question: Question) -> Found {
    let session = match question {
        Question::Health => {
            let found = doctor::found(context).await;
            return Ok(found.into_iter().map(check).collect());
        }
        Question::Explain(session) => session,
        Question::Export(session, to) => return exported(context, of, &session, &to).await,
    };
    let local = of.local().ok_or("the records are not at hand")?;
    let explained = explain(context, local, &session).await;
    let explained = explained.map_err(|error| error.to_string())?;
    let verdict = match explained.needs_person {
        true => Verdict::Warning,
        false => Verdict::Ok,
    };
    let causes = explained.causes.into_iter().map(|cause| Check {
        name: cause.code.to_owned(),
        verdict,
        found: cause.message,
        fixes: Vec::new(),
    });
    let mut causes: Vec<Check> = causes.collect();
    if let Some(last) = causes.last_mut() {
        last.fixes.extend(explained.next);
    }
    Ok(causes)
}

/// What `sessions export` says.
async fn exported(context: &Context, of: &Deployed, session: &str, to: &str) -> Found {
    let local = of.local().ok_or("the records are not at hand")?;
    let to = match (to.strip_prefix("~/"), context.vars.path("HOME")) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => PathBuf::from(to),
    };
    let session = local
        .session(session)
        .await
        .map_err(|error| error.to_string())?;
    let written = write_archive(local, &session, &to, false, &|_, _| {}).await;
    let written = written.map_err(|error| error.to_string())?;
    let size = crate::text::size(written.size_bytes);
    let mut found = format!("{} ({size})", written.path.display());
    for remark in written.remarks() {
        found.push_str("; ");
        found.push_str(remark);
    }
    Ok(vec![Check {
        name: "archive".to_owned(),
        verdict: Verdict::Ok,
        found,
        fixes: Vec::new(),
    }])
}

fn check(found: doctor::Check) -> Check {
    Check {
        name: found.name.to_owned(),
        verdict: match found.verdict {
            doctor::Verdict::Ok => Verdict::Ok,
            doctor::Verdict::Warning => Verdict::Warning,
            doctor::Verdict::Failed => Verdict::Failed,
        },
        found: found.found,
        fixes: found.fixes,
    }
}

/// What was said, kept.
#[derive(Clone, Default)]
struct Said(Arc<Mutex<Vec<u8>>>);

impl Said {
    /// What was said since it was taken last, in one line.
    fn take_line(&self) -> Option<String> {
        let bytes = self
            .0
            .lock()
            .map(|mut said| std::mem::take(&mut *said))
            .unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        let lines: Vec<&str> = text.lines().map(str::trim).collect();
        Some(lines.join("; ")).filter(|line| !line.is_empty())
    }
}

impl std::io::Write for Said {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if let Ok(mut said) = self.0.lock() {
            said.extend_from_slice(bytes);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_are_shown_as_the_terminal_says_it_can() {
        let of = |chosen: &str, vars: &[(&str, &str)]| {
            pictures(chosen, |name| {
                let found = vars.iter().find(|(of, _)| *of == name);
                found.map(|(_, value)| (*value).to_owned())
            })
        };
        let kitty = [("TERM", "xterm-kitty"), ("COLORTERM", "truecolor")];
        let [term, colours] = kitty;
        assert_eq!(of("auto", &kitty), Pictures::Pixels(Protocol::Kitty));
        assert_eq!(
            of("auto", &[term, colours, ("TMUX", "x")]),
            Pictures::FineBlocks
        );
        assert_eq!(of("words", &kitty), Pictures::Words);
        assert_eq!(of("auto", &[("TERM", "xterm-256color")]), Pictures::Blocks);
        assert_eq!(of("sixel", &[]), Pictures::Pixels(Protocol::Sixel));
        let wezterm = [("TERM_PROGRAM", "WezTerm")];
        assert_eq!(of("auto", &wezterm), Pictures::Pixels(Protocol::Iterm2));
        assert_eq!(
            of("auto", &[("TERM", "foot")]),
            Pictures::Pixels(Protocol::Sixel)
        );
    }

    #[test]
    fn numbers_of_made_up_sessions_may_be_short() {
        for (typed, expected) in [
            ("1", Some(1)),
            ("100k", Some(100_000)),
            ("2M", Some(2_000_000)),
            ("0", None),
            ("k", None),
            ("-1", None),
            ("1.5k", None),
            ("5000m", None),
        ] {
            assert_eq!(count(typed).ok().map(NonZero::get), expected, "{typed}");
        }
    }
}
