//! One page of a list route, with every field that any reader of the contract looks at.

use serde::{Deserialize, Serialize};

use crate::api::words::object_name;

object_name!(ListObject = "list");

/// A page. The next one is asked for with `after=<last_id>`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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
