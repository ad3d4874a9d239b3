//! Unique prefixes: what a person types of an id, made into the whole id.

use super::compose::Local;
use super::out::{CliError, codes};
use crate::engine::ids::{Kind, SessionId, could_be_prefix, well_formed};
use crate::engine::read::{ListQuery, SessionRead};

/// Candidates that an error about an ambiguous prefix lists.
const SHOWN: usize = 5;

impl Local {
    /// The Session that `typed` names.
    ///
    /// # Errors
    /// Not a possible id, ambiguous (usage), or unknown (not found).
    pub async fn session(&self, typed: &str) -> Result<SessionId, CliError> {
        let typed = with_prefix(Kind::Session, typed)?;
        if let Some(id) = SessionId::parse(&typed) {
            return Ok(id);
        }
        let found = self
            .core
            .session_ids(&self.owner, &typed, SHOWN + 1)
            .await?;
        let id = one(found, &typed, "session")?;
        SessionId::parse(&id)
            .ok_or_else(|| CliError::bug(format!("{id} is listed and is no session id")))
    }

    /// A Session as it is now.
    pub async fn read(&self, typed: &str) -> Result<SessionRead, CliError> {
        let id = self.session(typed).await?;
        Ok(self.core.read_session(&self.owner, &id).await?)
    }

    /// The saved Agent that `typed` names.
    pub async fn agent(&self, typed: &str) -> Result<String, CliError> {
        let typed = with_prefix(Kind::Agent, typed)?;
        if well_formed(Kind::Agent, &typed) {
            return Ok(typed);
        }
        let found = self.core.agent_ids(&self.owner, &typed, SHOWN + 1).await?;
        one(found, &typed, "agent")
    }

    /// The access key that `typed` names.
    pub async fn access_key(&self, typed: &str) -> Result<String, CliError> {
        let typed = with_prefix(Kind::AccessKey, typed)?;
        let keys = self.core.list_keys(&self.owner).await?;
        let found = keys.into_iter().map(|key| key.id);
        one(
            found.filter(|id| id.starts_with(&typed)).collect(),
            &typed,
            "key",
        )
    }

    /// The number of the Turn that `typed` names in a Session; newest Turns are looked at first.
    pub async fn turn(&self, read: &SessionRead, typed: &str) -> Result<u64, CliError> {
        let typed = with_prefix(Kind::Turn, typed)?;
        if well_formed(Kind::Turn, &typed) {
            return Ok(self.core.turn_number(read, &typed)?);
        }
        let ids = (1..read.head.next.turn).map(|n| crate::engine::view::turn_id(&read.id, n));
        let found: Vec<String> = ids
            .filter(|id| id.starts_with(&typed))
            .take(SHOWN + 1)
            .collect();
        let id = one(found, &typed, "turn")?;
        Ok(self.core.turn_number(read, &id)?)
    }

    /// The Artifact that `typed` names in a Session.
    pub async fn artifact(&self, read: &SessionRead, typed: &str) -> Result<String, CliError> {
        let typed = with_prefix(Kind::Artifact, typed)?;
        if well_formed(Kind::Artifact, &typed) {
            return Ok(typed);
        }
        let mut found = Vec::new();
        let mut query = ListQuery {
            limit: 100,
            ..ListQuery::default()
        };
        loop {
            let page = self.core.list_artifacts(read, None, &query).await?;
            found.extend(
                page.data
                    .iter()
                    .map(|a| a.id.clone())
                    .filter(|id| id.starts_with(&typed)),
            );
            query.after = page.last_id;
            if !page.has_more || found.len() > SHOWN {
                return one(found, &typed, "artifact");
            }
        }
    }
}

/// The id with its prefix, which may be left out.
fn with_prefix(kind: Kind, typed: &str) -> Result<String, CliError> {
    let full = match typed.contains('_') {
        true => typed.to_owned(),
        false => format!("{}{typed}", kind.prefix()),
    };
    if could_be_prefix(kind, &full) {
        return Ok(full);
    }
    let message = format!(
        "{typed:?} is not an id, or the beginning of one: expected {}…",
        kind.prefix()
    );
    Err(CliError::new(codes::INPUT, message))
}

fn one(mut found: Vec<String>, typed: &str, what: &str) -> Result<String, CliError> {
    match found.len() {
        0 => Err(CliError::not_found(format!("no {what} starts with {typed}")).hint(listing(what))),
        1 => Ok(found.remove(0)),
        _ => Err(ambiguous(found, typed, what)),
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
