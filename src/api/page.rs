//! One page of a list route, with every field that any reader of the contract looks at.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::api::words::{object_name, words};

object_name!(ListObject = "list");

/// A page. The next one is asked for with `after=<last_id>`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "PageOf{T}")]
pub struct Page<T> {
    /// Always `list`.
    #[serde(default)]
    pub object: ListObject,
    /// In the order asked for.
    pub data: Vec<T>,
    /// Whether more follows behind the last one.
    pub has_more: bool,
    /// Id of the first element; null on an empty page.
    #[serde(default)]
    pub first_id: Option<String>,
    /// Id of the last element; null on an empty page.
    #[serde(default)]
    pub last_id: Option<String>,
}

/// A page of a list without ids. The next one is asked for with `page=<next>`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "TokenPageOf{T}")]
pub struct TokenPage<T> {
    /// Always `list`.
    #[serde(default)]
    pub object: ListObject,
    /// In the order asked for.
    pub data: Vec<T>,
    /// Whether more follows behind the last one.
    pub has_more: bool,
    /// Where it follows; null at the end.
    pub next: Option<String>,
    /// Always null.
    #[serde(default)]
    pub first_id: Option<String>,
    /// Always null.
    #[serde(default)]
    pub last_id: Option<String>,
}

impl<T> TokenPage<T> {
    /// A page of these elements; `next` is where more follow, if they do.
    pub fn new(data: Vec<T>, next: Option<String>) -> TokenPage<T> {
        TokenPage {
            object: ListObject::Only,
            data,
            has_more: next.is_some(),
            next,
            first_id: None,
            last_id: None,
        }
    }
}

/// A resource that lists name by its id.
pub trait HasId {
    /// Its id; `None` where the contract allows null.
    fn id(&self) -> Option<&str>;
}

impl<T: HasId> Page<T> {
    /// A page of these elements, with the ids of the first and the last.
    pub fn new(data: Vec<T>, has_more: bool) -> Page<T> {
        let id = |element: Option<&T>| element.and_then(HasId::id).map(str::to_owned);
        Page {
            object: ListObject::Only,
            first_id: id(data.first()),
            last_id: id(data.last()),
            data,
            has_more,
        }
    }
}

/// Elements of a page when the request does not say.
pub const DEFAULT_PAGE_LIMIT: u32 = 20;
/// Elements of a page at most.
pub const MAX_PAGE_LIMIT: u32 = 100;

words! {
    /// The order of a list by creation.
    #[derive(Default)]
    pub enum Order {
        /// Oldest first.
        Asc = "asc",
        /// Newest first.
        #[default]
        Desc = "desc",
    }
}

/// Which page of a list is asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ListParams {
    /// Behind this element, exclusive; the first page if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// 1 to [`MAX_PAGE_LIMIT`].
    pub limit: u32,
    /// In which order.
    pub order: Order,
}

impl Default for ListParams {
    fn default() -> Self {
        ListParams {
            after: None,
            limit: DEFAULT_PAGE_LIMIT,
            order: Order::default(),
        }
    }
}
