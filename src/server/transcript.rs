//! What was said and done in a Session: Turns and Items.

use super::answer::Asked;
use super::refusal::{Answered, shown};
use crate::api::{ApiError, Page, Subagent};

pub(super) async fn items(mut asked: Asked) -> Answered {
    let page = asked.query.take_page()?;
    asked.no_more_query()?;
    let read = asked.read().await?;
    shown(&asked.server.core.list_items(&read, None, &page).await?)
}

pub(super) async fn turns(mut asked: Asked) -> Answered {
    let page = asked.query.take_page()?;
    asked.no_more_query()?;
    let read = asked.read().await?;
    let (turns, _) = asked.server.core.list_turns(&read, &page).await?;
    shown(&turns)
}

pub(super) async fn turn(mut asked: Asked) -> Answered {
    asked.no_more_query()?;
    let read = asked.read().await?;
    let core = &asked.server.core;
    let number = core.turn_number(&read, asked.id(1))?;
    let (turn, _) = core.get_turn(&read, number).await?;
    shown(&turn)
}

pub(super) async fn turn_items(mut asked: Asked) -> Answered {
    let page = asked.query.take_page()?;
    asked.no_more_query()?;
    let read = asked.read().await?;
    let core = &asked.server.core;
    let number = core.turn_number(&read, asked.id(1))?;
    shown(&core.list_items(&read, Some(number), &page).await?)
}

/// A list of a Session that has nothing in it, and so nothing to continue behind.
pub(super) async fn none(mut asked: Asked) -> Answered {
    let page = asked.query.take_page()?;
    asked.no_more_query()?;
    asked.read().await?;
    match page.after {
        Some(id) => Err(ApiError::not_found(&format!("'{id}'")).into()),
        None => shown(&Page::<Subagent>::new(Vec::new(), false)),
    }
}

/// Something of a subagent: a Session has none, so none is found.
pub(super) async fn no_subagent(mut asked: Asked) -> Answered {
    asked.no_more_query()?;
    asked.read().await?;
    Err(ApiError::not_found(&format!("Subagent '{}'", asked.id(1))).into())
}

/// The same as a list.
pub(super) async fn no_subagent_page(mut asked: Asked) -> Answered {
    asked.query.take_page()?;
    no_subagent(asked).await
}
