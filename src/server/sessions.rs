//! Sessions.

use super::answer::Asked;
use super::refusal::{Answered, Refusal, shown};
use super::stream::{self, End, Follow};
use crate::api::{AgentSessionDeleted, parse_session_create, parse_session_update};
use crate::engine::read::SessionFilter;

pub(super) async fn create(mut asked: Asked) -> Answered {
    asked.no_more_query()?;
    let mut params = parse_session_create(&asked.take_body().await?)?;
    asked.caller.may_use_all_of(&params)?;
    let key = asked.idempotency_key()?;
    // How it is answered is no part of what is created.
    let streams = params.stream.take().unwrap_or_default();
    let options = params.stream_options.take();
    let (core, owner) = (&asked.server.core, &asked.caller.owner);
    // Refused before anything happens, not after.
    let room = match streams {
        true => Some(stream::room(&asked.server)?),
        false => None,
    };
    let created = core.create_session(owner, key.as_deref(), &params).await;
    let created = created.map_err(|error| Refusal::of_engine(error, key.as_deref()))?;
    asked.server.traffic.sessions_created.one();
    let Some(room) = room else {
        return shown(&core.get_session(owner, &created.session).await?);
    };
    let follow = Follow {
        session: created.session,
        after: None,
        obfuscates: options.and_then(|o| o.include_obfuscation).unwrap_or(true),
        end: End::FirstTurn,
    };
    stream::open(&asked.server, &asked.caller, follow, room).await
}

pub(super) async fn list(mut asked: Asked) -> Answered {
    let page = asked.query.take_page()?;
    let filter = SessionFilter {
        agent_id: asked.query.take("agent_id"),
        metadata: asked.query.take_metadata("metadata")?,
        status: Vec::new(),
    };
    asked.no_more_query()?;
    let (core, owner) = (&asked.server.core, &asked.caller.owner);
    shown(&core.list_sessions(owner, &page, &filter).await?)
}

pub(super) async fn get(mut asked: Asked) -> Answered {
    asked.no_more_query()?;
    let session = asked.session()?;
    let core = &asked.server.core;
    shown(&core.get_session(&asked.caller.owner, &session).await?)
}

pub(super) async fn update(mut asked: Asked) -> Answered {
    asked.no_more_query()?;
    let session = asked.session()?;
    let params = parse_session_update(&asked.take_body().await?)?;
    let (core, owner) = (&asked.server.core, &asked.caller.owner);
    core.update_session(owner, &session, &params).await?;
    shown(&core.get_session(owner, &session).await?)
}

pub(super) async fn delete(mut asked: Asked) -> Answered {
    asked.no_more_query()?;
    let session = asked.session()?;
    let core = &asked.server.core;
    core.delete_session(&asked.caller.owner, &session).await?;
    shown(&AgentSessionDeleted::of(session.as_str()))
}
