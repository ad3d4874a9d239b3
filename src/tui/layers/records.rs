//! Records that only an operator sees, among the layers.

use super::{Goes, Layer};
use crate::engine::outbox::Reconcile;
use crate::engine::ports::{DeliveryRead, RunPhase, RunRead};
use crate::tui::action::Action;
use crate::tui::msg::{Effect, Trouble};
use crate::tui::reading::Seen;
use crate::tui::records::{
    About, Deliveries, Owed, Report, Runs, environment_lines, files_lines, health_lines,
};
use crate::tui::settle::{Matter, Settle, Then};
use crate::tui::state::State;
use crate::tui::window::Where;

/// Opens the Runs of a Session.
pub fn open_runs(state: &mut State, session: String) -> Vec<Effect> {
    let mut runs = Runs::new(session);
    let effect = runs.read(state, Where::Start);
    state.layers.push(Layer::Runs(Box::new(runs)));
    vec![effect]
}

/// Opens the deliveries of a Session.
pub fn open_deliveries(state: &mut State, session: String) -> Vec<Effect> {
    let mut deliveries = Deliveries::new(session);
    let effect = deliveries.read(state, Where::Start);
    state.layers.push(Layer::Deliveries(Box::new(deliveries)));
    vec![effect]
}

/// Opens what all Sessions owe.
pub fn open_owed(state: &mut State, session: Option<String>) -> Vec<Effect> {
    let mut owed = Owed {
        session,
        ..Owed::default()
    };
    let effect = owed.read(state);
    state.layers.push(Layer::Owed(Box::new(owed)));
    vec![effect]
}

/// Opens a page.
pub fn open_report(state: &mut State, about: About) -> Vec<Effect> {
    let mut report = Report::new(about);
    let effect = report.read(state);
    state.layers.push(Layer::Report(Box::new(report)));
    vec![effect]
}

fn height(state: &State) -> usize {
    state.page_height() - 1
}

pub(super) fn act_runs(runs: &mut Runs, state: &mut State, action: Action) -> (Vec<Effect>, Goes) {
    let effects = match (action, runs.rows.current().cloned()) {
        (Action::Back, _) => return (Vec::new(), Goes::Away),
        (Action::CopyId, Some(run)) => state.copy(&run.id),
        (Action::Release, Some(run)) => ask_release(state, run),
        (action, _) => {
            let at = runs.rows.act(action, height(state));
            at.map(|at| runs.read(state, at)).into_iter().collect()
        }
    };
    (effects, Goes::On)
}

fn ask_release(state: &mut State, run: RunRead) -> Vec<Effect> {
    match run.state {
        RunPhase::Quarantined => ask(
            state,
            Matter::Release {
                session: run.session_id,
                run: run.id,
                execution: run.execution,
            },
        ),
        RunPhase::Live | RunPhase::Ended => {
            state.notice = Some("this run is not in quarantine: nothing is to be released".into());
        }
    }
    Vec::new()
}

fn ask(state: &mut State, matter: Matter) {
    state
        .layers
        .push(Layer::Settle(Box::new(Settle::new(matter))));
}

pub(super) fn act_deliveries(
    deliveries: &mut Deliveries,
    state: &mut State,
    action: Action,
) -> (Vec<Effect>, Goes) {
    let effects = match (action, deliveries.rows.current().cloned()) {
        (Action::Back, _) => return (Vec::new(), Goes::Away),
        (Action::Next, _) => {
            let session = Some(deliveries.session.clone());
            return (open_owed(state, session), Goes::Away);
        }
        (Action::CopyId, Some(delivery)) => state.copy(&delivery.id),
        (Action::Arrived, Some(of)) => ask_delivery(deliveries, state, of, Reconcile::Arrived),
        (Action::SendAgain, Some(of)) => ask_delivery(deliveries, state, of, Reconcile::SendAgain),
        (Action::GiveUp, Some(of)) => ask_delivery(deliveries, state, of, Reconcile::GiveUp),
        (action, _) => {
            let at = deliveries.rows.act(action, height(state));
            at.map(|at| deliveries.read(state, at))
                .into_iter()
                .collect()
        }
    };
    (effects, Goes::On)
}

fn ask_delivery(
    deliveries: &Deliveries,
    state: &mut State,
    of: DeliveryRead,
    how: Reconcile,
) -> Vec<Effect> {
    let matter = Matter::Delivery {
        session: deliveries.session.clone(),
        delivery: of.id,
        destination: of.row.destination,
        state: of.row.state.to_string(),
        how,
    };
    ask(state, matter);
    Vec::new()
}

pub(super) fn act_owed(owed: &mut Owed, state: &mut State, action: Action) -> (Vec<Effect>, Goes) {
    let effects = match (action, owed.rows.current().cloned()) {
        (Action::Back, _) => return (Vec::new(), Goes::Away),
        (Action::Next, current) => {
            let selected = current.map(|row| row.session_id);
            return match owed.session.clone().or(selected) {
                Some(session) => (open_deliveries(state, session), Goes::Away),
                None => (Vec::new(), Goes::On),
            };
        }
        (Action::CopyId, Some(row)) => state.copy(&row.session_id),
        (Action::Open, Some(row)) => return (state.go_to(row.session_id), Goes::Away),
        (action, _) => {
            owed.rows.act(action, height(state));
            Vec::new()
        }
    };
    (effects, Goes::On)
}

pub(super) fn act_report(
    report: &mut Report,
    state: &mut State,
    action: Action,
) -> (Vec<Effect>, Goes) {
    match action {
        Action::Back => return (Vec::new(), Goes::Away),
        Action::Copy => return (state.copy(report.reader.text()), Goes::On),
        Action::Files => match report.about.clone() {
            About::Environment(session) => {
                return (open_report(state, About::Files(session)), Goes::On);
            }
            _ => state.notice = Some("files are shown from the environment: 4".to_owned()),
        },
        action => {
            let (look, height) = (state.page_look(), state.page_height());
            report.reader.act(action, look.width, height, look.glyphs);
        }
    }
    (Vec::new(), Goes::On)
}

type Read = Result<Box<Seen>, Trouble>;

pub(super) fn read_runs(runs: &mut Runs, state: &mut State, result: &Read) -> Vec<Effect> {
    let result = match result.as_deref() {
        Ok(Seen::Runs(chunk)) => Ok(chunk.clone()),
        Ok(_) => return Vec::new(),
        Err(trouble) => Err(trouble.clone()),
    };
    let next = runs.rows.take(result, height(state), state.now_ms);
    next.map(|at| runs.read(state, at)).into_iter().collect()
}

pub(super) fn read_deliveries(
    of: &mut Deliveries,
    state: &mut State,
    result: &Read,
) -> Vec<Effect> {
    let result = match result.as_deref() {
        Ok(Seen::Deliveries(chunk)) => Ok(chunk.clone()),
        Ok(_) => return Vec::new(),
        Err(trouble) => Err(trouble.clone()),
    };
    let next = of.rows.take(result, height(state), state.now_ms);
    next.map(|at| of.read(state, at)).into_iter().collect()
}

pub(super) fn read_owed(owed: &mut Owed, state: &State, result: &Read) -> Vec<Effect> {
    let result = match result.as_deref() {
        Ok(Seen::Owed(chunk)) => Ok(chunk.clone()),
        Ok(_) => return Vec::new(),
        Err(trouble) => Err(trouble.clone()),
    };
    owed.rows.take(result, height(state), state.now_ms);
    Vec::new()
}

pub(super) fn read_report(report: &mut Report, state: &State, result: &Read) {
    let lines = match result.as_deref() {
        Ok(Seen::Environment(session, read)) => Ok(environment_lines(session, read, state.now_ms)),
        Ok(Seen::Files(files)) => Ok(files_lines(files.as_ref())),
        Ok(Seen::Checks(checks)) => Ok(health_lines(checks)),
        Ok(_) => return,
        Err(trouble) => Err(trouble.words.clone()),
    };
    report.take(lines, state.now_ms);
}

pub(super) fn act_settle(
    settle: &mut Settle,
    state: &mut State,
    action: Action,
) -> (Vec<Effect>, Goes) {
    match settle.act(action) {
        Then::Stay => (Vec::new(), Goes::On),
        Then::Leave => (Vec::new(), Goes::Away),
        Then::Settle => {
            let ticket = state.ticket();
            settle.sending = Some(ticket);
            let matter = settle.matter.clone();
            (vec![Effect::Settle { ticket, matter }], Goes::On)
        }
    }
}

/// What became of something that was to be settled; what the list behind it shows is read again.
pub fn settled(state: &mut State, ticket: u64, result: &Result<(), Trouble>) -> Vec<Effect> {
    let at = state
        .layers
        .iter()
        .position(|layer| matches!(layer, Layer::Settle(settle) if settle.sending == Some(ticket)));
    let Some(at) = at else {
        // The question was left; what there is to say is said all the same.
        state.notice = Some(match result {
            Ok(()) => "it is settled".to_owned(),
            Err(trouble) => trouble.words.clone(),
        });
        return super::refresh(state);
    };
    if let Some(Layer::Settle(settle)) = state.layers.get_mut(at)
        && let Some(words) = settle.settled(result)
    {
        state.layers.remove(at);
        state.notice = Some(words);
        return super::refresh(state);
    }
    Vec::new()
}
