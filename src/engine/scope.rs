//! Scopes: what an access key may be used for.
//!
//! They bound what a leaked key can do; they never widen whose things it reaches. Surprising: a key that was made without naming any
//! has every scope, those of later versions, too; one that names some has exactly these, and a name that this version does not know
//! allows nothing here.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// One thing that a key may be used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    /// Look at Agents, Sessions, their transcripts, streams, artifacts and environments.
    AgentsRead,
    /// Create, change and delete them, and end Turns.
    AgentsWrite,
    /// Have a model called: what starts or continues a Turn.
    ResponsesWrite,
    /// Look at vaults and credentials, and use them in a Session.
    VaultsRead,
    /// Create, change and delete them.
    VaultsWrite,
    /// Look at uploaded files and skills, read them, and use them in a Session.
    FilesRead,
    /// Upload and delete them.
    FilesWrite,
}

impl Scope {
    /// Every scope, in the order in which they are shown.
    pub const ALL: [Scope; 7] = [
        Scope::AgentsRead,
        Scope::AgentsWrite,
        Scope::ResponsesWrite,
        Scope::VaultsRead,
        Scope::VaultsWrite,
        Scope::FilesRead,
        Scope::FilesWrite,
    ];

    /// As it stands in commands, records and refusals.
    pub fn name(self) -> &'static str {
        match self {
            Scope::AgentsRead => "api.agents.read",
            Scope::AgentsWrite => "api.agents.write",
            Scope::ResponsesWrite => "api.responses.write",
            Scope::VaultsRead => "api.vaults.read",
            Scope::VaultsWrite => "api.vaults.write",
            Scope::FilesRead => "api.files.read",
            Scope::FilesWrite => "api.files.write",
        }
    }

    /// The scope of that name, if there is one.
    pub fn parse(name: &str) -> Option<Scope> {
        Scope::ALL.into_iter().find(|scope| scope.name() == name)
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// All that a key may be used for. In records a list of names, or nothing at all for every scope.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Scopes {
    /// Everything.
    #[default]
    All,
    /// These.
    Only(BTreeSet<Scope>),
}

impl Scopes {
    /// Exactly these.
    pub fn only(scopes: impl IntoIterator<Item = Scope>) -> Scopes {
        Scopes::Only(scopes.into_iter().collect())
    }

    /// Whether this is among them.
    pub fn allow(&self, scope: Scope) -> bool {
        match self {
            Scopes::All => true,
            Scopes::Only(scopes) => scopes.contains(&scope),
        }
    }

    /// Whether no bound was set, so that a record says nothing.
    pub fn are_all(&self) -> bool {
        *self == Scopes::All
    }

    /// The names of those that are allowed now.
    pub fn names(&self) -> Vec<&'static str> {
        let allowed = Scope::ALL.into_iter().filter(|scope| self.allow(*scope));
        allowed.map(Scope::name).collect()
    }
}

impl Serialize for Scopes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Scopes::All => serializer.serialize_none(),
            Scopes::Only(_) => serializer.collect_seq(self.names()),
        }
    }
}

impl<'de> Deserialize<'de> for Scopes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Scopes, D::Error> {
        let names = Option::<Vec<String>>::deserialize(deserializer)?;
        // What a newer version allows and this one does not know is not allowed here.
        Ok(names.map_or(Scopes::All, |names| {
            Scopes::only(names.iter().filter_map(|name| Scope::parse(name)))
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_back_to_their_scopes() {
        for scope in Scope::ALL {
            assert_eq!(Scope::parse(scope.name()), Some(scope));
        }
        for unknown in ["", "api.agents", "API.AGENTS.READ", "*"] {
            assert_eq!(Scope::parse(unknown), None, "{unknown}");
        }
    }

    #[test]
    fn only_what_was_named_is_allowed() {
        let read = Scopes::only([Scope::AgentsRead]);
        assert!(read.allow(Scope::AgentsRead) && !read.allow(Scope::AgentsWrite));
        assert!(Scope::ALL.iter().all(|scope| Scopes::All.allow(*scope)));
        let none = Scopes::only([]);
        assert!(Scope::ALL.iter().all(|scope| !none.allow(*scope)));
    }

    #[test]
    fn records_hold_names_and_unknown_ones_allow_nothing() {
        let check = |text: &str, expected: Scopes| {
            let read: Scopes = serde_json::from_str(text).expect("is read");
            assert_eq!(read, expected, "{text}");
        };
        check("null", Scopes::All);
        check("[]", Scopes::only([]));
        check(
            r#"["api.agents.read","api.of.tomorrow"]"#,
            Scopes::only([Scope::AgentsRead]),
        );
        let written = serde_json::to_string(&Scopes::only([Scope::FilesRead]));
        assert_eq!(written.ok().as_deref(), Some(r#"["api.files.read"]"#));
    }
}
