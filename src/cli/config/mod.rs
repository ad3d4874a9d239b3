//! Configuration: what the user decided, from which place each decision came, and where the data is.
//!
//! Order of precedence: flag, environment, profile, file, default. The table in `keys.rs` is the only list of keys: reading,
//! checking, showing and the documentation follow it. Surprising: one file may hold profiles of kinds that this build cannot
//! use; they are looked into only when one of them is chosen.

mod args;
mod check;
mod choose;
mod command;
mod data_dir;
mod file;
mod keys;
mod locate;
mod origin;
mod resolve;
mod settings;
mod value;
mod vars;
mod workers;

#[cfg(test)]
mod docs;
#[cfg(test)]
mod tests;

pub use args::{ConfigArgs, Overrides};
pub use command::{Command, run};
pub use data_dir::{prepare_data_dir, private_file};
pub use keys::variables;
pub use origin::{Entry, Origin, Resolved};
pub use settings::{
    AwsSettings, RecoveryChoice, SandboxSettings, ServerSettings, Settings, UiSettings,
};
pub use settings::{
    DaemonSettings, HarnessSettings, IsolationChoice, KeyOrigin, LimitSettings, NetworkChoice,
    ProviderKind, ProviderSettings,
};
pub use vars::Vars;
pub use workers::{WorkerSettings, for_machines};
