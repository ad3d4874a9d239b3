//! What follows from what happened: `(state, message) -> effects`. Pure; the only place where the state changes.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::action::{self, Action, Place};
use super::field::Field;
use super::filter::Filter;
use super::find::Wanted;
use super::layers::{self, Layer, View};
use super::msg::{Effect, Msg};
use super::reading::Seen;
use super::session::{Cancelling, Open};
use super::several::Deed;
use super::state::State;
use crate::text::ago;

mod submit;

/// Lines by which a notch of the wheel scrolls.
const WHEEL_LINES: usize = 3;
/// `ctrl-c` twice within this time leaves.
const INTERRUPT_MS: u64 = 2_000;
const TOO_LONG: &str = "the text is longer than a message may be";

/// The effects of opening the screen, on a Session if one is named.
pub fn start(state: &mut State, session: Option<String>) -> Vec<Effect> {
    let mut effects = vec![state.sessions.restart(state.now_ms)];
    if let Some(id) = session {
        effects.extend(open(state, id));
    }
    effects
}

/// See the module.
pub fn update(state: &mut State, msg: Msg) -> Vec<Effect> {
    let now_ms = state.now_ms;
    match msg {
        Msg::Key(key) => {
            state.dirty = true;
            state.notice = None;
            on_key(state, &key)
        }
        Msg::Paste(text) => {
            state.dirty = true;
            paste(state, &text);
            Vec::new()
        }
        Msg::Wheel(up) => wheel(state, up),
        Msg::Click(row) => {
            click(state, row);
            Vec::new()
        }
        Msg::Paged(result) => {
            state.dirty = true;
            state.notice = result.err().or(state.notice.take());
            vec![Effect::Redraw]
        }
        Msg::Resize(columns, rows) => {
            state.dirty = true;
            state.size = (columns, rows);
            let height = state.list_height();
            state.sessions.keep_visible(height);
            let look = state.look();
            if let Some(open) = &mut state.open {
                open.keep_anchor(look);
            }
            // A terminal that was made small and as large again meanwhile has lost what stood at its edges.
            vec![Effect::Redraw]
        }
        Msg::Tick(now_ms) => tick(state, now_ms),
        Msg::Listed { ticket, result } => {
            let height = state.list_height();
            let (effects, changed) = state.sessions.listed(ticket, result, height, now_ms);
            state.dirty |= changed && (state.open.is_none() || state.columns().sessions > 0);
            effects
        }
        Msg::Looked { ticket, result } => {
            let (look, height) = (state.look(), state.transcript_height());
            let Some(open) = &mut state.open else {
                return Vec::new();
            };
            let (effects, changed) = open.looked(ticket, result, look, height);
            state.dirty |= open.settle(now_ms) | changed;
            effects
        }
        Msg::Found {
            session,
            ticket,
            result,
        } => {
            let (look, height) = (state.look(), state.transcript_height());
            let Some(open) = state.open.as_mut().filter(|open| open.id == session) else {
                return Vec::new();
            };
            state.dirty = true;
            let effects = open.found(ticket, result, look, height);
            state.notice = open.finder.says.take().or(state.notice.take());
            effects
        }
        Msg::Signs { session, result } => {
            let Some(open) = state.open.as_mut().filter(|open| open.id == session) else {
                return Vec::new();
            };
            let says = result
                .as_ref()
                .is_ok_and(|s| !s.written.is_empty() || !s.notes.is_empty());
            state.dirty |= says;
            open.signs(result, now_ms)
        }
        Msg::Sent {
            session,
            key,
            result,
            note,
        } => {
            state.dirty = true;
            state.notice = note.or(state.notice.take());
            submit::sent(state, &session, &key, result)
        }
        Msg::Created { key, result, note } => {
            state.dirty = true;
            state.notice = note.or(state.notice.take());
            match layers::created(state, &key, &result) {
                Some(id) => open(state, id),
                None => Vec::new(),
            }
        }
        Msg::Read { ticket, result } if ticket == state.place_ticket => {
            state.dirty = true;
            match result.map(|seen| *seen) {
                Ok(Seen::TurnPlace(session, place)) => {
                    layers::place_read(state, Ok((session, *place)))
                }
                Ok(_) => Vec::new(),
                Err(trouble) => layers::place_read(state, Err(trouble)),
            }
        }
        Msg::Read { ticket, result } => layers::read(state, ticket, &result),
        Msg::Settled { ticket, result } => {
            state.dirty = true;
            layers::settled(state, ticket, &result)
        }
        Msg::Deed { session, result } => {
            state.dirty = true;
            layers::deed_done(state, &session, &result)
        }
        Msg::Saving { ticket, saving } => {
            layers::saving(state, ticket, &saving);
            Vec::new()
        }
        Msg::Edited(result) => {
            state.dirty = true;
            submit::edited(state, result);
            vec![Effect::Redraw]
        }
    }
}

fn tick(state: &mut State, now_ms: u64) -> Vec<Effect> {
    let before_ms = std::mem::replace(&mut state.now_ms, now_ms);
    let height = state.list_height();
    let mut asked = layers::tick(state);
    asked.extend(match &mut state.open {
        None => {
            let since = state.sessions.waits_since();
            let waits = since.is_some_and(|at_ms| at_ms + 1_000 < now_ms);
            let (effects, changed) = state.sessions.tick(before_ms, now_ms, height);
            state.dirty |= changed | waits;
            effects
        }
        Some(open) => {
            // How long ago a Turn at work began is shown.
            let began = open.active_turn().and_then(|turn| turn.started_at);
            let works = began.is_some_and(|at| {
                let at_ms = at * 1000;
                ago(at_ms, before_ms) != ago(at_ms, now_ms)
            });
            let waits = open
                .waits_since()
                .is_some_and(|at_ms| at_ms + 1_000 < now_ms);
            state.dirty |= open.settle(now_ms) | works | waits | open.problem.is_some();
            open.tick(now_ms)
        }
    });
    if state.open.is_some() && state.columns().sessions > 0 {
        let (effects, changed) = state.sessions.tick(now_ms, now_ms, height);
        state.dirty |= changed;
        asked.extend(effects);
    }
    asked
}

fn paste(state: &mut State, text: &str) {
    if let Some(layer) = state.layers.last_mut() {
        if !layer.insert(text) {
            state.notice = Some(TOO_LONG.into());
        }
        return;
    }
    let too_long = match (state.place(), &mut state.open, &mut state.sessions.typing) {
        (Place::Composer, Some(open), _) if open.composer.sending.is_none() => {
            open.composer.changed();
            !open.composer.field.insert(text)
        }
        (Place::Search, Some(open), _) => match &mut open.finder.typing {
            Some(field) => !field.insert(&text.replace(['\n', '\r'], " ")),
            None => false,
        },
        (Place::Filter, _, Some(field)) => !field.insert(&text.replace(['\n', '\r'], " ")),
        _ => false,
    };
    if too_long {
        state.notice = Some(TOO_LONG.into());
    }
}

fn on_key(state: &mut State, key: &KeyEvent) -> Vec<Effect> {
    let place = state.place();
    let name = action::key_name(key);
    let found = name.and_then(|name| {
        let read_only = state.about.read_only;
        action::find_in(&state.keymap, place, &name, read_only)
    });
    let Some(found) = found else {
        let plain = !key
            .modifiers
            .intersects(KeyModifiers::CONTROL | KeyModifiers::ALT);
        if let (KeyCode::Char(c), true) = (key.code, plain) {
            paste(state, c.encode_utf8(&mut [0; 4]));
        }
        return Vec::new();
    };
    act(state, found)
}

/// Does what a key of the place where keys go would do.
pub fn act(state: &mut State, found: Action) -> Vec<Effect> {
    if found != Action::Quit {
        state.leaving = false;
    }
    if found != Action::Interrupt {
        state.interrupted_ms = None;
    }
    perform(state, found)
}

/// Does an action where keys go now.
pub(super) fn perform(state: &mut State, found: Action) -> Vec<Effect> {
    let place = state.place();
    match found {
        Action::Help => {
            state.help = Some(0);
            Vec::new()
        }
        Action::Quit => quit(state),
        Action::Palette if place == Place::Palette => Vec::new(),
        Action::Palette => {
            layers::open_palette(state);
            Vec::new()
        }
        Action::Suspend => vec![Effect::Suspend],
        Action::Mouse => {
            state.mouse = !state.mouse;
            state.notice = Some(match state.mouse {
                true => "the mouse is the screen's now: the wheel scrolls, a click selects".into(),
                false => "the mouse is the terminal's: it selects text".into(),
            });
            vec![Effect::Mouse(state.mouse)]
        }
        Action::Refresh => refresh(state),
        Action::Interrupt => interrupt(state),
        Action::Times => {
            state.next_time_style();
            Vec::new()
        }
        Action::Whole => {
            state.whole = !state.whole;
            let look = state.look();
            if let Some(open) = &mut state.open {
                open.keep_anchor(look);
            }
            Vec::new()
        }
        Action::Create => layers::open_create(state),
        Action::Sessions => layers::to_sessions(state),
        Action::Deliveries => layers::open_view(state, View::Deliveries),
        Action::Runs => layers::open_view(state, View::Runs),
        Action::Environment => layers::open_view(state, View::Environment),
        Action::Artifacts => layers::open_view(state, View::Artifacts),
        Action::Health => layers::open_view(state, View::Health),
        Action::Explain => layers::open_view(state, View::Explain),
        found => match place {
            Place::Help => in_help(state, found),
            Place::Sessions => in_sessions(state, found),
            Place::Filter => in_filter(state, found),
            Place::Session => in_session(state, found),
            Place::Search => in_search(state, found),
            Place::Composer => submit::in_composer(state, found),
            Place::Cancel => submit::in_cancel(state, found),
            Place::Everywhere | Place::Text | Place::List => Vec::new(),
            _ => layers::act(state, found),
        },
    }
}

/// Three lines or rows a notch. Where text is typed and where something is asked, the wheel means nothing.
fn wheel(state: &mut State, up: bool) -> Vec<Effect> {
    let action = if up { Action::Up } else { Action::Down };
    let place = state.place();
    if place.takes_text() || action::find(place, "down", false) != Some(Action::Down) {
        return Vec::new();
    }
    state.dirty = true;
    (0..WHEEL_LINES).flat_map(|_| act(state, action)).collect()
}

/// Selects the Session in a row of the screen, if one is there.
fn click(state: &mut State, row: u16) {
    let line = usize::from(row).checked_sub(super::view::LIST_TOP);
    let height = state.list_height();
    if let (Place::Sessions, Some(line)) = (state.place(), line.filter(|line| *line < height)) {
        let sessions = &mut state.sessions;
        let place = sessions.top + line;
        if place < sessions.window.rows().len() {
            sessions.selected = place;
            state.dirty = true;
        }
    }
}

/// The first time it closes a line that is typed, and no more: what was written is not lost, and nothing is done to any agent. The second time
/// it leaves.
fn interrupt(state: &mut State) -> Vec<Effect> {
    let now_ms = state.now_ms;
    let before = state.interrupted_ms.replace(now_ms);
    if before.is_some_and(|at_ms| now_ms.saturating_sub(at_ms) <= INTERRUPT_MS) {
        return vec![Effect::Quit];
    }
    let place = state.place();
    let effects = match place {
        Place::Filter
        | Place::Search
        | Place::Palette
        | Place::Save
        | Place::Settle
        | Place::SeveralText
        | Place::Login => perform(state, Action::Back),
        _ => Vec::new(),
    };
    state.notice = Some("ctrl-c again quits; agents go on working".into());
    effects
}

/// A person who would lose what was written is told so once.
fn quit(state: &mut State) -> Vec<Effect> {
    leave(state, Effect::Quit)
}

/// Leaves in this way, if nothing is lost by it or the same was wanted before.
pub(super) fn leave(state: &mut State, how: Effect) -> Vec<Effect> {
    let open = state.open.iter().map(|open| &open.composer);
    let mut written = open.chain(state.drafts.values());
    let in_layers = state.layers.iter().any(Layer::is_written);
    let in_layers = in_layers || state.creating.is_some();
    if !state.leaving && (in_layers || written.any(|draft| !draft.field.text().is_empty())) {
        state.leaving = true;
        state.notice =
            Some("a message that was not sent would be lost; the same key again quits".into());
        return Vec::new();
    }
    vec![how]
}

fn refresh(state: &mut State) -> Vec<Effect> {
    let mut effects = vec![Effect::Redraw];
    effects.extend(layers::refresh(state));
    match &mut state.open {
        Some(open) => effects.extend(open.look_at_news(state.now_ms)),
        None => effects.push(state.sessions.refresh(state.now_ms)),
    }
    effects
}

fn in_help(state: &mut State, action: Action) -> Vec<Effect> {
    let most = super::view::help::length(state).saturating_sub(1);
    state.help = match (action, state.help) {
        (Action::Down, Some(at)) => Some((at + 1).min(most)),
        (Action::Up, Some(at)) => Some(at.saturating_sub(1)),
        (Action::Back, _) => None,
        (_, at) => at,
    };
    Vec::new()
}

fn in_sessions(state: &mut State, action: Action) -> Vec<Effect> {
    let height = state.list_height();
    let sessions = &mut state.sessions;
    match action {
        Action::Open => match sessions.current().map(|session| session.id.clone()) {
            Some(id) => open(state, id),
            None => Vec::new(),
        },
        Action::CopyId if !sessions.marks.is_empty() => {
            let ids: Vec<&str> = sessions.marks.iter().map(String::as_str).collect();
            let ids = ids.join("\n");
            state.copy(&ids)
        }
        Action::CopyId => match sessions.current().map(|session| session.id.clone()) {
            Some(id) => state.copy(&id),
            None => Vec::new(),
        },
        Action::Mark => {
            sessions.mark();
            sessions.act(Action::Down, height, state.now_ms)
        }
        Action::AskCancel => layers::open_several(state, Deed::Cancel),
        Action::AskDelete => layers::open_several(state, Deed::Delete),
        Action::AskExport => layers::open_several(state, Deed::Export),
        Action::Waiting => match Filter::parse("state:waiting") {
            Ok(filter) => {
                sessions.filter = filter;
                vec![sessions.restart(state.now_ms)]
            }
            Err(_) => Vec::new(),
        },
        Action::Back if !sessions.marks.is_empty() => {
            sessions.marks.clear();
            Vec::new()
        }
        Action::Filter => {
            sessions.typing = Some(Field::new(sessions.filter.typed.clone()));
            Vec::new()
        }
        Action::Back if sessions.filter != Filter::default() => {
            sessions.filter = Filter::default();
            vec![sessions.restart(state.now_ms)]
        }
        Action::Back => Vec::new(),
        action => sessions.act(action, height, state.now_ms),
    }
}

fn in_filter(state: &mut State, action: Action) -> Vec<Effect> {
    let sessions = &mut state.sessions;
    let Some(field) = &mut sessions.typing else {
        return Vec::new();
    };
    sessions.mistake = None;
    match action {
        Action::Accept => match Filter::parse(field.text()) {
            Ok(filter) => {
                sessions.typing = None;
                sessions.filter = filter;
                return vec![sessions.restart(state.now_ms)];
            }
            Err(mistake) => sessions.mistake = Some(mistake),
        },
        Action::Back => sessions.typing = None,
        action => {
            field.edit(action);
        }
    }
    Vec::new()
}

/// Opens a Session, with the draft that was left in it.
pub fn open(state: &mut State, id: String) -> Vec<Effect> {
    let mut open = Open::new(id);
    if let Some(draft) = state.drafts.remove(&open.id) {
        open.composer = draft;
    }
    let effects = open.start(state.now_ms);
    state.open = Some(open);
    effects
}

fn in_session(state: &mut State, action: Action) -> Vec<Effect> {
    let (look, height) = (state.look(), state.transcript_height());
    let Some(open) = &mut state.open else {
        return Vec::new();
    };
    match action {
        Action::Back if open.finder.going.take().is_some() => {
            state.notice = Some("the search was ended".into());
            Vec::new()
        }
        Action::Back if open.finder.found.take().is_some() => Vec::new(),
        Action::Back => close(state),
        Action::Search => {
            open.finder.typing = Some(Field::default());
            Vec::new()
        }
        Action::FindUp | Action::FindDown => match open.finder.words.clone() {
            Some(words) => find(state, words, action == Action::FindUp),
            None => {
                state.notice = Some("no words were searched yet: / begins".into());
                Vec::new()
            }
        },
        Action::AskedBefore => find(state, Wanted::Asked, true),
        Action::AskedNext => find(state, Wanted::Asked, false),
        Action::Copy => match open.copied_text() {
            Some(text) => state.copy(&text),
            None => {
                state.notice = Some("there is nothing to copy yet".into());
                Vec::new()
            }
        },
        Action::Pager => match open.paged_text() {
            Some(text) => vec![Effect::Page(text)],
            None => {
                state.notice = Some("there is no Item yet".into());
                Vec::new()
            }
        },
        Action::CopyId => {
            let id = open.id.clone();
            state.copy(&id)
        }
        Action::Answer => {
            layers::open_answer(state);
            Vec::new()
        }
        Action::Turns => layers::open_turns(state),
        Action::Subagents => layers::open_subagents(state),
        Action::TurnBefore => layers::turn_beside(state, true),
        Action::TurnNext => layers::turn_beside(state, false),
        Action::Inspect => {
            layers::open_inspect(state);
            Vec::new()
        }
        Action::ItemBefore => find(state, Wanted::Any, true),
        Action::ItemNext => find(state, Wanted::Any, false),
        Action::Write => {
            open.composer.focused = true;
            Vec::new()
        }
        Action::AskCancel => {
            let turn = open.active_turn().map(|turn| turn.id.clone());
            match (turn, &open.cancelling) {
                (Some(turn), None) => open.cancelling = Some(Cancelling::Asked(turn)),
                (Some(turn), Some(Cancelling::Accepted { turn: asked, .. })) if turn != *asked => {
                    open.cancelling = Some(Cancelling::Asked(turn));
                }
                (Some(_), Some(_)) => {
                    state.notice = Some("this turn is being cancelled already".into());
                }
                (None, _) => state.notice = Some("no turn is active".into()),
            }
            Vec::new()
        }
        action => open.act(action, look, height),
    }
}

fn find(state: &mut State, wanted: Wanted, up: bool) -> Vec<Effect> {
    let (look, height) = (state.look(), state.transcript_height());
    let Some(open) = &mut state.open else {
        return Vec::new();
    };
    let effects = open.find(wanted, up, look, height);
    state.notice = open.finder.says.take().or(state.notice.take());
    effects
}

fn in_search(state: &mut State, action: Action) -> Vec<Effect> {
    let Some(open) = &mut state.open else {
        return Vec::new();
    };
    let finder = &mut open.finder;
    let Some(mut field) = finder.typing.take() else {
        return Vec::new();
    };
    match action {
        Action::Accept => {
            let Some(words) = Wanted::words(field.text()) else {
                return Vec::new();
            };
            finder.words = Some(words.clone());
            return find(state, words, true);
        }
        Action::Back => return Vec::new(),
        action => field.edit(action),
    };
    finder.typing = Some(field);
    Vec::new()
}

/// Back to the list. A draft stays with its Session.
pub(super) fn close(state: &mut State) -> Vec<Effect> {
    if let Some(mut open) = state.open.take()
        && (!open.composer.field.text().is_empty() || open.composer.sending.is_some())
    {
        open.composer.focused = false;
        state.drafts.insert(open.id, open.composer);
    }
    vec![Effect::Unwatch, state.sessions.refresh(state.now_ms)]
}
