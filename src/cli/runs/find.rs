//! From what a person typed to a Run. A Run's id is derived from its Session, so there is no index from the one to the other:
//! Sessions that owe work are looked at first, then the newest, then, for a whole id, all.

use crate::cli::compose::{self, Local};
use crate::cli::out::{CliError, codes};
use crate::cli::outbox;
use crate::cli::resolve::ambiguous;
use crate::engine::core::decode;
use crate::engine::error::EngineError;
use crate::engine::fence::RunRow;
use crate::engine::ids::{Kind, SessionId, could_be_prefix, number_of, well_formed};
use crate::engine::keys;
use crate::engine::operating::run_id;
use crate::engine::ports::{Range, RunRead};
use crate::engine::session::Head;

/// Agenda entries and newest Sessions whose Runs a beginning of an id is compared with.
const LOOKED_AT: usize = 500;
/// Newest Runs of each that are compared.
const GENERATIONS: usize = 200;
/// Session ids read at once when a whole id is looked for.
const STEP_ROWS: usize = 1_000;

/// The Run that `typed` names: a Run's id or the beginning of one, or a Session's, which means its latest Run.
///
/// # Errors
/// Usage when it is no id or an ambiguous one, not found when there is no such Run.
pub(super) async fn run(local: &Local, typed: &str) -> Result<RunRead, CliError> {
    if typed.starts_with(Kind::Session.prefix()) {
        let session = local.session(typed).await?;
        let head = head(local, &session).await?;
        return match latest(local, &session, &head).await? {
            Some(run) => Ok(run),
            None => Err(CliError::not_found(format!("{session} had no run yet"))),
        };
    }
    let id = match typed.contains('_') {
        true => typed.to_owned(),
        false => format!("{}{typed}", Kind::Run.prefix()),
    };
    if !could_be_prefix(Kind::Run, &id) {
        let message =
            format!("{typed:?} is not the id of a run or session, or the beginning of one");
        return Err(CliError::new(codes::INPUT, message));
    }
    let (session, generation) = match well_formed(Kind::Run, &id) {
        true => whole(local, &id).await?,
        false => beginning(local, &id).await?,
    };
    let head = head(local, &session).await?;
    let row = local
        .core
        .row::<RunRow>(&session, keys::run(generation))
        .await?;
    match row {
        Some(row) => Ok(RunRead::of(
            &session,
            &head,
            generation,
            row,
            compose::is_alive,
        )),
        None => Err(missing(&id)),
    }
}

/// The latest Run of a Session.
pub(super) async fn latest(
    local: &Local,
    session: &SessionId,
    head: &Head,
) -> Result<Option<RunRead>, CliError> {
    let range = Range::prefix(keys::session_partition(session), "run/", 1).reversed();
    let page = local.core.store.range(&range).await;
    let page = page.map_err(EngineError::from)?;
    let Some(record) = page.records.first() else {
        return Ok(None);
    };
    let generation = keys::number(&record.key.sort, "run/").unwrap_or_default();
    let view = RunRead::of(
        session,
        head,
        generation,
        decode(record)?,
        compose::is_alive,
    );
    Ok(Some(view))
}

async fn head(local: &Local, session: &SessionId) -> Result<Head, CliError> {
    let loaded = local.core.load_owned(&local.owner, session).await?;
    Ok(loaded.head)
}

/// The Session and generation of a whole id.
async fn whole(local: &Local, id: &str) -> Result<(SessionId, u64), CliError> {
    let owner = keys::owner_partition(&local.owner);
    let mut range = Range::prefix(owner, "sessions/", STEP_ROWS).reversed();
    loop {
        let page = local.core.store.range(&range).await;
        let page = page.map_err(EngineError::from)?;
        let found = page.records.iter().find_map(|record| {
            let session = SessionId::parse(record.key.sort.rsplit('/').next()?)?;
            let generation = number_of(Kind::Run, &session, id)?;
            Some((session, generation))
        });
        if let Some(found) = found {
            return Ok(found);
        }
        match page.records.last() {
            Some(last) if page.more => range.until = Some(last.key.sort.clone()),
            _ => return Err(missing(id)),
        }
    }
}

/// The only Run that starts like this, among those of Sessions that owe work and of the newest ones.
async fn beginning(local: &Local, typed: &str) -> Result<(SessionId, u64), CliError> {
    let owing = outbox::due(local, LOOKED_AT).await?;
    let mut sessions: Vec<SessionId> = owing
        .into_iter()
        .filter(|due| due.head.deleted_ms.is_none())
        .map(|due| due.session)
        .collect();
    let owner = keys::owner_partition(&local.owner);
    let newest = Range::prefix(owner, "sessions/", LOOKED_AT).reversed();
    let page = local.core.store.range(&newest).await;
    for record in page.map_err(EngineError::from)?.records {
        let id = record.key.sort.rsplit('/').next();
        if let Some(session) = id.and_then(SessionId::parse)
            && !sessions.contains(&session)
        {
            sessions.push(session);
        }
    }
    let mut found = Vec::new();
    for session in sessions {
        let partition = keys::session_partition(&session);
        let runs = Range::prefix(partition, "run/", GENERATIONS).reversed();
        let page = local.core.store.range(&runs).await;
        for record in page.map_err(EngineError::from)?.records {
            let generation = keys::number(&record.key.sort, "run/").unwrap_or_default();
            let id = run_id(&session, generation);
            if id.starts_with(typed) {
                found.push((id, session.clone(), generation));
            }
        }
    }
    match found.as_slice() {
        [] => Err(missing(typed)),
        [(_, session, generation)] => Ok((session.clone(), *generation)),
        several => {
            let ids = several.iter().map(|(id, ..)| id.clone()).collect();
            Err(ambiguous(ids, typed, "run"))
        }
    }
}

fn missing(typed: &str) -> CliError {
    CliError::not_found(format!("no run {typed}"))
        .hint("`rat-things runs list --all-active` shows those that are active")
        .hint("`rat-things runs list SESSION` shows those of a session")
}
