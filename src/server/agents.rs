//! Saved Agents.

use super::answer::Asked;
use super::refusal::{Answered, shown};
use crate::api::{AgentDeleted, parse_agent_create, parse_agent_update};

pub(super) async fn create(mut asked: Asked) -> Answered {
    asked.no_more_query()?;
    let params = parse_agent_create(&asked.take_body().await?)?;
    let core = &asked.server.core;
    shown(&core.create_agent(&asked.caller.owner, &params).await?)
}

pub(super) async fn list(mut asked: Asked) -> Answered {
    let page = asked.query.take_page()?;
    asked.no_more_query()?;
    let core = &asked.server.core;
    shown(&core.list_agents(&asked.caller.owner, &page).await?)
}

pub(super) async fn get(mut asked: Asked) -> Answered {
    asked.no_more_query()?;
    let core = &asked.server.core;
    let (_, agent) = core.agent(&asked.caller.owner, asked.id(0)).await?;
    shown(&agent)
}

pub(super) async fn update(mut asked: Asked) -> Answered {
    asked.no_more_query()?;
    let params = parse_agent_update(&asked.take_body().await?)?;
    let (core, owner) = (&asked.server.core, &asked.caller.owner);
    shown(&core.update_agent(owner, asked.id(0), &params).await?)
}

pub(super) async fn delete(mut asked: Asked) -> Answered {
    asked.no_more_query()?;
    let (core, id) = (&asked.server.core, asked.id(0));
    core.delete_agent(&asked.caller.owner, id).await?;
    shown(&AgentDeleted::of(id))
}
