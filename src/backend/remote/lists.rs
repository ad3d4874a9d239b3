//! Lists: one page as it is asked for, pages that are filtered here because the server can't, and ids that are typed in part.

use serde::de::DeserializeOwned;

use super::Remote;
use super::call::Call;
use super::failure::Failure;
use crate::api::{HasId, Page};
use crate::engine::ports::Matches;
use crate::engine::read::ListQuery;

/// Elements of a page when many are looked at.
const PAGE: usize = 100;
/// Pages that are looked at for the beginning of an id.
const PAGES_FOR_IDS: usize = 10;
/// Pages that are looked at for what a filter lets pass.
const PAGES_FOR_FILTER: usize = 100;

impl Remote {
    /// One page.
    pub(super) async fn page<T: DeserializeOwned + HasId>(
        &self,
        path: &[&str],
        query: &ListQuery,
        more: &[(String, String)],
    ) -> Result<Page<T>, Failure> {
        let mut call = Call::get(path);
        let order = if query.ascending { "asc" } else { "desc" };
        call.query = vec![
            ("limit".to_owned(), query.limit.to_string()),
            ("order".to_owned(), order.to_owned()),
        ];
        if let Some(after) = &query.after {
            call.query.push(("after".to_owned(), after.clone()));
        }
        call.query.extend_from_slice(more);
        let mut page: Page<T> = self.fetch(&call).await?;
        // Not every server names the ids of both ends.
        let id = |element: Option<&T>| element.and_then(HasId::id).map(str::to_owned);
        page.first_id = page.first_id.or_else(|| id(page.data.first()));
        page.last_id = page.last_id.or_else(|| id(page.data.last()));
        Ok(page)
    }

    /// A page of what `passes`, out of as many of the server's pages as it takes, up to a bound.
    pub(super) async fn filtered<T: DeserializeOwned + HasId>(
        &self,
        path: &[&str],
        query: &ListQuery,
        more: &[(String, String)],
        passes: impl Fn(&T) -> bool,
    ) -> Result<Page<T>, Failure> {
        let mut step = ListQuery {
            limit: PAGE,
            ..query.clone()
        };
        let mut found = Vec::new();
        for _ in 0..PAGES_FOR_FILTER {
            let page: Page<T> = self.page(path, &step, more).await?;
            let next = behind(&page);
            found.extend(page.data.into_iter().filter(&passes));
            if found.len() > query.limit || next.is_none() {
                break;
            }
            step.after = next;
        }
        let has_more = found.len() > query.limit;
        found.truncate(query.limit);
        Ok(Page::new(found, has_more))
    }

    /// Ids that begin with `prefix`, among the newest.
    pub(super) async fn matches<T: DeserializeOwned + HasId>(
        &self,
        path: &[&str],
        prefix: &str,
        limit: usize,
    ) -> Result<Matches, Failure> {
        let mut query = ListQuery {
            limit: PAGE,
            ..ListQuery::default()
        };
        let mut matches = Matches::default();
        let mut looked_at = 0;
        for _ in 0..PAGES_FOR_IDS {
            let page: Page<T> = self.page(path, &query, &[]).await?;
            looked_at += page.data.len();
            let ids = page.data.iter().filter_map(HasId::id);
            let ids = ids.filter(|id| id.starts_with(prefix)).map(str::to_owned);
            matches.found.extend(ids);
            if matches.found.iter().any(|id| id == prefix) {
                matches.found = vec![prefix.to_owned()];
                return Ok(matches);
            }
            query.after = behind(&page);
            if query.after.is_none() || matches.found.len() >= limit {
                matches.found.truncate(limit);
                return Ok(matches);
            }
        }
        matches.gave_up_behind = Some(looked_at);
        Ok(matches)
    }
}

/// The id behind which the next page is, if there is one.
pub(super) fn behind<T>(page: &Page<T>) -> Option<String> {
    let next = page.last_id.clone();
    next.filter(|_| page.has_more && !page.data.is_empty())
}
