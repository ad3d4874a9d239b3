//! Wire types of the Agents API: the only promises this project makes in JSON.
//!
//! Resources are what answers show (`agent`, `session`, `turn`, `item`, `artifact`, `environment`, `event`, …); requests are
//! in the files that end in `_param`, and in `input`. Everything is re-exported flat. Derived serde is how this program
//! reads back what it wrote; a client's body is read by the `parse_…` functions, which refuse what they do not know.
//!
//! Three properties hold by the types. A secret can be in a request and in no answer: no resource has a field for it (the one
//! open map, the headers of a saved Agent's MCP server, is refused when it carries credentials). Fields are written in the
//! order of the contract, a union's `type` first. An update tells absent, null and a value apart
//! ([`Patch`]).

mod agent;
mod agent_param;
mod artifact;
mod canonical;
mod content;
mod environment;
mod environment_param;
mod error;
mod event;
mod extension;
mod file;
mod input;
mod item;
pub mod limits;
mod page;
mod parse;
mod patch;
mod receipt;
mod resolve;
mod secret;
mod session;
mod session_param;
pub mod strict;
mod subagent;
mod template;
mod template_param;
mod tool;
mod tool_param;
mod turn;
mod usage;
mod vault;
mod vault_param;
pub mod words;

pub use agent::*;
pub use agent_param::*;
pub use artifact::*;
pub use canonical::canonical_json;
pub use content::*;
pub use environment::*;
pub use environment_param::*;
pub use error::*;
pub use event::*;
pub use extension::*;
pub use file::*;
pub use input::*;
pub use item::*;
pub use page::*;
pub use parse::*;
pub use patch::Patch;
pub use receipt::*;
pub use secret::Secret;
pub use session::*;
pub use session_param::*;
pub use subagent::*;
pub use template::*;
pub use template_param::*;
pub use tool::*;
pub use tool_param::*;
pub use turn::*;
pub use usage::*;
pub use vault::*;
pub use vault_param::*;
pub use words::Words;
