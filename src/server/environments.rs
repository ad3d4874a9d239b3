//! Environments, the files of their workspaces, and templates.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::answer::Asked;
use super::refusal::{Answered, Refusal, shown};
use crate::api::{
    ApiError, EnvironmentFile, EnvironmentFileObject, EnvironmentTemplateDeleted, TokenPage,
    limits, parse_environment_file, parse_template_create, parse_template_update,
};
use crate::engine::core::Core;
use crate::engine::ports::{Environments, FilesQuery};

pub(super) async fn get(mut asked: Asked) -> Answered {
    asked.no_more_query()?;
    let (core, owner) = (&asked.server.core, &asked.caller.owner);
    shown(&core.environment_info(owner, asked.id(0)).await?)
}

pub(super) async fn files(mut asked: Asked) -> Answered {
    let token = asked.query.take("page");
    let below = asked.query.take("path");
    let page = asked.query.take_page()?;
    asked.no_more_query()?;
    if page.after.is_some() {
        let message = "Unknown parameter: 'after'.";
        return Err(ApiError::invalid_request("after", message).into());
    }
    let mut below = below.unwrap_or_else(|| "/workspace".to_owned());
    if below.ends_with('/') {
        below.pop();
    }
    if below != "/workspace" {
        limits::check_workspace_directory("path", &below)?;
    }
    let query = FilesQuery {
        below,
        limit: page.limit,
        reverse: !page.ascending,
        after: token.map(|token| path_of(&token)).transpose()?,
    };
    let (core, owner, id) = (&asked.server.core, &asked.caller.owner, asked.id(0));
    let environments = here(core, asked.server.environments.as_deref(), owner, id).await?;
    let found = core.environment_files(environments, owner, id, &query);
    let found = found.await?;
    let last = found.files.last().map(|file| file.path.clone());
    let files = found.files.into_iter().map(|file| EnvironmentFile {
        environment_id: id.to_owned(),
        object: EnvironmentFileObject::Only,
        path: file.path,
        size_bytes: file.size_bytes,
    });
    let next = last.filter(|_| found.more).map(|path| token_of(&path));
    shown(&TokenPage::new(files.collect(), next))
}

pub(super) async fn put_file(mut asked: Asked) -> Answered {
    asked.no_more_query()?;
    let file = parse_environment_file(&asked.take_body().await?)?;
    asked.caller.may_use_files([&file].into_iter())?;
    let (core, owner, id) = (&asked.server.core, &asked.caller.owner, asked.id(0));
    let environments = here(core, asked.server.environments.as_deref(), owner, id).await?;
    let put = core.put_environment_file(environments, owner, id, &file);
    shown(&put.await?)
}

/// Where workspaces are, if they are here.
async fn here<'a>(
    core: &Core,
    environments: Option<&'a dyn Environments>,
    owner: &str,
    id: &str,
) -> Answered<&'a dyn Environments> {
    match environments {
        Some(environments) => Ok(environments),
        None => {
            core.environment_session(owner, id).await?;
            let message = "The workspace of this environment can't be reached from here.";
            Err(Refusal::last_word(ApiError::conflict(message)))
        }
    }
}

/// The place in a list behind a file.
fn token_of(path: &str) -> String {
    URL_SAFE_NO_PAD.encode(path)
}

fn path_of(token: &str) -> Result<String, ApiError> {
    let bytes = URL_SAFE_NO_PAD.decode(token).ok();
    let path = bytes.and_then(|bytes| String::from_utf8(bytes).ok());
    path.filter(|path| path.starts_with("/workspace/"))
        .ok_or_else(|| {
            let message = "Invalid 'page': it is not the 'next' of an earlier page.";
            ApiError::invalid_request("page", message)
        })
}

pub(super) async fn create_template(mut asked: Asked) -> Answered {
    asked.no_more_query()?;
    let params = parse_template_create(&asked.take_body().await?)?;
    let (files, skills) = (params.files.iter(), params.skills.iter());
    asked.caller.may_use_files(files.flatten())?;
    asked.caller.may_use_skills(skills.flatten())?;
    let core = &asked.server.core;
    shown(&core.create_template(&asked.caller.owner, params).await?)
}

pub(super) async fn list_templates(mut asked: Asked) -> Answered {
    let page = asked.query.take_page()?;
    asked.no_more_query()?;
    let core = &asked.server.core;
    shown(&core.list_templates(&asked.caller.owner, &page).await?)
}

pub(super) async fn get_template(mut asked: Asked) -> Answered {
    asked.no_more_query()?;
    let (core, owner) = (&asked.server.core, &asked.caller.owner);
    shown(&core.template(owner, asked.id(0)).await?)
}

pub(super) async fn update_template(mut asked: Asked) -> Answered {
    asked.no_more_query()?;
    let params = parse_template_update(&asked.take_body().await?)?;
    let (files, skills) = (params.files.as_set(), params.skills.as_set());
    asked.caller.may_use_files(files.into_iter().flatten())?;
    asked.caller.may_use_skills(skills.into_iter().flatten())?;
    let (core, owner) = (&asked.server.core, &asked.caller.owner);
    shown(&core.update_template(owner, asked.id(0), params).await?)
}

pub(super) async fn delete_template(mut asked: Asked) -> Answered {
    asked.no_more_query()?;
    let (core, id) = (&asked.server.core, asked.id(0));
    core.delete_template(&asked.caller.owner, id).await?;
    shown(&EnvironmentTemplateDeleted::of(id))
}
