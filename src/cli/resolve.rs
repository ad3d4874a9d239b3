//! Unique prefixes: what a person types of an id, made into the whole id.

use super::compose::Local;
use super::out::{CliError, codes};
use crate::engine::embedded::Embedded;
use crate::engine::error::EngineError;
use crate::engine::ids::{Kind, SessionId, could_be_prefix, well_formed};
use crate::engine::keys::{environment, owner_partition};
use crate::engine::ports::{Deployment, Matches, Named, Range};
use crate::engine::read::{ListQuery, SessionRead};

/// Subagents that are looked at at once.
const PAGE: usize = 100;

/// Candidates that an error about an ambiguous prefix lists.
const SHOWN: usize = 5;

/// The Session that `typed` names.
///
/// # Errors
/// Not a possible id, ambiguous (usage), or unknown (not found).
pub async fn session(of: &dyn Deployment, typed: &str) -> Result<String, CliError> {
    whole(of, Named::Session, typed).await
}

/// The saved Agent that `typed` names.
///
/// # Errors
/// As for Sessions.
pub async fn agent(of: &dyn Deployment, typed: &str) -> Result<String, CliError> {
    whole(of, Named::Agent, typed).await
}

/// The Turn that `typed` names in a Session.
///
/// # Errors
/// As for Sessions.
pub async fn turn(of: &dyn Deployment, session: &str, typed: &str) -> Result<String, CliError> {
    let id = whole(of, Named::Turn(session), typed).await?;
    // A whole id of another Session is none of this one's.
    of.turn(session, &id).await?;
    Ok(id)
}

/// The Artifact that `typed` names in a Session.
///
/// # Errors
/// As for Sessions.
pub async fn artifact(of: &dyn Deployment, session: &str, typed: &str) -> Result<String, CliError> {
    whole(of, Named::Artifact(session), typed).await
}

/// The subagent that `typed` names in a Session.
///
/// # Errors
/// As for Sessions.
pub async fn subagent(of: &dyn Deployment, session: &str, typed: &str) -> Result<String, CliError> {
    let full = with_prefix(Kind::Subagent, typed);
    if well_formed(Kind::Subagent, &full) || (of.has_other_ids() && typed.contains('_')) {
        return Ok(full);
    }
    if !could_be_prefix(Kind::Subagent, &full) {
        return Err(no_id(Kind::Subagent, typed));
    }
    let mut matches = Matches::default();
    let mut query = ListQuery {
        limit: PAGE,
        ..ListQuery::default()
    };
    loop {
        let page = of.list_subagents(session, &query).await?;
        let ids = page.data.into_iter().map(|subagent| subagent.id);
        matches.found.extend(ids.filter(|id| id.starts_with(&full)));
        match page.last_id {
            Some(last) if page.has_more => query.after = Some(last),
            _ => return one(matches, &full, "subagent"),
        }
    }
}

async fn whole(of: &dyn Deployment, named: Named<'_>, typed: &str) -> Result<String, CliError> {
    let (kind, what) = kind_of(named);
    let full = with_prefix(kind, typed);
    if well_formed(kind, &full) {
        return Ok(full);
    }
    // An id of another make is known only to the place that made it.
    let ours = could_be_prefix(kind, &full);
    if !ours && !of.has_other_ids() {
        return Err(no_id(kind, typed));
    }
    let asked = if ours { full.as_str() } else { typed };
    let found = of.ids(named, asked, SHOWN + 1).await?;
    if found.found.is_empty() && !ours {
        return Err(no_id(kind, typed));
    }
    one(found, asked, what)
}

fn kind_of(named: Named<'_>) -> (Kind, &'static str) {
    match named {
        Named::Session => (Kind::Session, "session"),
        Named::Agent => (Kind::Agent, "agent"),
        Named::Turn(_) => (Kind::Turn, "turn"),
        Named::Artifact(_) => (Kind::Artifact, "artifact"),
    }
}

impl Local {
    /// These Sessions as every other place has them.
    pub fn deployment(&self) -> Embedded {
        Embedded::new(self.core.clone(), self.owner.clone())
    }

    /// The Session that `typed` names.
    ///
    /// # Errors
    /// Not a possible id, ambiguous (usage), or unknown (not found).
    pub async fn session(&self, typed: &str) -> Result<SessionId, CliError> {
        let id = session(&self.deployment(), typed).await?;
        SessionId::parse(&id)
            .ok_or_else(|| CliError::bug(format!("{id} is listed and is no session id")))
    }

    /// A Session as it is now.
    pub async fn read(&self, typed: &str) -> Result<SessionRead, CliError> {
        let id = self.session(typed).await?;
        Ok(self.core.read_session(&self.owner, &id).await?)
    }

    /// The Session of the environment that `typed` names: an environment's id or the beginning of one, or a Session's, which means its
    /// environment.
    ///
    /// # Errors
    /// As for Sessions.
    pub async fn session_of_environment(&self, typed: &str) -> Result<SessionId, CliError> {
        if typed.starts_with(Kind::Session.prefix()) {
            return self.session(typed).await;
        }
        let full = with_prefix(Kind::Environment, typed);
        if !could_be_prefix(Kind::Environment, &full) {
            return Err(no_id(Kind::Environment, typed));
        }
        let owner = owner_partition(&self.owner);
        let range = Range::prefix(owner, &environment(&full), SHOWN + 1);
        let page = self.core.store.range(&range).await;
        let page = page.map_err(EngineError::from)?;
        let ids = page.records.iter();
        let matches = Matches {
            found: { ids.filter_map(|record| record.key.sort.rsplit('/').next()) }
                .map(str::to_owned)
                .collect(),
            gave_up_behind: None,
        };
        let id = one(matches, &full, "environment")?;
        let read = self.core.environment_session(&self.owner, &id).await?;
        Ok(read.id)
    }

    /// The access key that `typed` names.
    pub async fn access_key(&self, typed: &str) -> Result<String, CliError> {
        let full = with_prefix(Kind::AccessKey, typed);
        if !could_be_prefix(Kind::AccessKey, &full) {
            return Err(no_id(Kind::AccessKey, typed));
        }
        let keys = self.core.list_keys(&self.owner).await?;
        let ids = keys.into_iter().map(|key| key.id);
        let matches = Matches {
            found: ids.filter(|id| id.starts_with(&full)).collect(),
            gave_up_behind: None,
        };
        one(matches, &full, "key")
    }
}

/// The id with its prefix, which may be left out.
fn with_prefix(kind: Kind, typed: &str) -> String {
    match typed.contains('_') {
        true => typed.to_owned(),
        false => format!("{}{typed}", kind.prefix()),
    }
}

fn no_id(kind: Kind, typed: &str) -> CliError {
    let message = format!(
        "{typed:?} is not an id, or the beginning of one: expected {}…",
        kind.prefix()
    );
    CliError::new(codes::INPUT, message)
}

fn one(mut matches: Matches, typed: &str, what: &str) -> Result<String, CliError> {
    let whole_id = |error: CliError| error.hint("give the whole id");
    match (matches.found.len(), matches.gave_up_behind) {
        (0, None) => {
            Err(CliError::not_found(format!("no {what} starts with {typed}")).hint(listing(what)))
        }
        (0, Some(n)) => Err(whole_id(CliError::not_found(format!(
            "none of the newest {n} {what}s starts with {typed}; older ones were not looked at"
        )))),
        (1, None) => Ok(matches.found.remove(0)),
        (1, Some(n)) => {
            let only = &matches.found[0];
            let message = format!(
                "{typed} is the beginning of {only}; only the newest {n} {what}s were looked at, and it may be another's, too"
            );
            Err(whole_id(CliError::new(codes::AMBIGUOUS, message)))
        }
        _ => Err(ambiguous(matches.found, typed, what)),
    }
}

/// What was typed fits several ids.
pub fn ambiguous(mut found: Vec<String>, typed: &str, what: &str) -> CliError {
    let more = if found.len() > SHOWN { ", …" } else { "" };
    found.truncate(SHOWN);
    let list = found.join(", ");
    let message = format!("{typed} is the beginning of several {what} ids: {list}{more}");
    CliError::new(codes::AMBIGUOUS, message).hint("type some more characters")
}

/// The command that shows what there is.
pub fn listing(what: &str) -> String {
    match what {
        "agent" => "`rat-things agents list` shows them".to_owned(),
        "session" => "`rat-things sessions list` shows them".to_owned(),
        "turn" | "item" | "artifact" | "event" => {
            format!("`rat-things sessions {what}s SESSION` shows them")
        }
        "key" => "`rat-things keys list` shows them".to_owned(),
        "run" => "`rat-things runs list SESSION` shows them".to_owned(),
        _ => "`rat-things sessions list` shows what there is".to_owned(),
    }
}
