//! A Session's subagents, and what each of them said and did.

use super::answer::Asked;
use super::refusal::{Answered, shown};
use crate::engine::read::SessionRead;

pub(super) async fn list(mut asked: Asked) -> Answered {
    let page = asked.query.take_page()?;
    asked.no_more_query()?;
    let read = asked.read().await?;
    shown(&asked.server.core.list_subagents(&read, &page).await?)
}

pub(super) async fn get(mut asked: Asked) -> Answered {
    asked.no_more_query()?;
    let (read, subagent) = known(&mut asked).await?;
    shown(&asked.server.core.get_subagent(&read, subagent).await?)
}

pub(super) async fn items(mut asked: Asked) -> Answered {
    let page = asked.query.take_page()?;
    asked.no_more_query()?;
    let (read, subagent) = known(&mut asked).await?;
    let core = &asked.server.core;
    shown(
        &core
            .list_subagent_items(&read, subagent, None, &page)
            .await?,
    )
}

pub(super) async fn turns(mut asked: Asked) -> Answered {
    let page = asked.query.take_page()?;
    asked.no_more_query()?;
    let (read, subagent) = known(&mut asked).await?;
    let core = &asked.server.core;
    shown(&core.list_subagent_turns(&read, subagent, &page).await?)
}

pub(super) async fn turn(mut asked: Asked) -> Answered {
    asked.no_more_query()?;
    let (read, subagent) = known(&mut asked).await?;
    let core = &asked.server.core;
    let number = core.subagent_turn_number(&read, subagent, asked.id(2))?;
    let (turn, _) = core.get_turn(&read, number).await?;
    shown(&turn)
}

pub(super) async fn turn_items(mut asked: Asked) -> Answered {
    let page = asked.query.take_page()?;
    asked.no_more_query()?;
    let (read, subagent) = known(&mut asked).await?;
    let core = &asked.server.core;
    let number = core.subagent_turn_number(&read, subagent, asked.id(2))?;
    let items = core.list_subagent_items(&read, subagent, Some(number), &page);
    shown(&items.await?)
}

/// The Session and the number of the subagent that the path names.
async fn known(asked: &mut Asked) -> Answered<(SessionRead, u64)> {
    let read = asked.read().await?;
    let number = asked.server.core.subagent_number(&read, asked.id(1))?;
    Ok((read, number))
}
