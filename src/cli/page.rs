//! Which part of a list: the same options for every list.

use clap::{Args, ValueEnum};

use super::out::{CliError, Console};
use crate::engine::read::ListQuery;

/// Which part of a list.
#[derive(Clone, Debug, Args)]
pub struct PageArgs {
    /// Entries at most
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..=100))]
    pub limit: u16,
    /// Continue behind this id
    #[arg(long, value_name = "ID")]
    pub after: Option<String>,
    /// Which end comes first: asc, the oldest; or desc, the newest
    #[arg(long, value_enum, hide_possible_values = true)]
    pub order: Option<Order>,
    /// Everything, page by page
    #[arg(long)]
    pub all: bool,
}

/// Which end comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Order {
    /// Oldest first
    Asc,
    /// Newest first
    Desc,
}

impl PageArgs {
    /// The query of the first page; `default` is the order if none is given.
    pub fn query(&self, default: Order) -> ListQuery {
        ListQuery {
            limit: if self.all {
                100
            } else {
                usize::from(self.limit)
            },
            after: self.after.clone(),
            ascending: self.order.unwrap_or(default) == Order::Asc,
        }
    }

    /// The asked page, or with `--all` every page in one.
    pub async fn fetch<T, E, F>(
        &self,
        default: Order,
        mut page: impl FnMut(ListQuery) -> F,
    ) -> Result<crate::api::Page<T>, CliError>
    where
        F: Future<Output = Result<crate::api::Page<T>, E>>,
        CliError: From<E>,
    {
        let mut query = self.query(default);
        let mut whole = page(query.clone()).await?;
        while self.all && whole.has_more {
            query.after = whole.last_id.take();
            let mut next = page(query.clone()).await?;
            whole.data.append(&mut next.data);
            whole.has_more = next.has_more;
            whole.last_id = next.last_id;
        }
        Ok(whole)
    }
}

/// Says that a list goes on, and how to see the rest; or that it is empty, where nothing else would say so.
pub fn more<T>(page: &crate::api::Page<T>, console: &Console, what: &str) {
    if let Some(last) = page.last_id.as_ref().filter(|_| page.has_more) {
        console.say.note(format!("more: --after {last} (or --all)"));
    } else if page.data.is_empty() && console.out.format().is_for_people() {
        console.say.note(format!("no {what}"));
    }
}
