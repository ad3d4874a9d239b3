//! What was said and done in a Session: Turns and Items.

use super::answer::Asked;
use super::refusal::{Answered, shown};
use crate::api::{ApiError, Page, SessionTrace};

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

/// Traces: nothing here makes any, so there is nothing to continue behind.
pub(super) async fn traces(mut asked: Asked) -> Answered {
    let page = asked.query.take_page()?;
    asked.no_more_query()?;
    asked.read().await?;
    match page.after {
        Some(id) => Err(ApiError::not_found(&format!("'{id}'")).into()),
        None => shown(&Page::<SessionTrace>::new(Vec::new(), false)),
    }
}
