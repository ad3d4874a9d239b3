//! What one check found.

use serde_json::{Value, json};

use crate::cli::out::{Cell, CliError, Details, Role};

/// How a check went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cli) enum Verdict {
    /// Fine.
    Ok,
    /// It works, and somebody should know about it.
    Warning,
    /// Something will not work.
    Failed,
}

impl Verdict {
    fn name(self) -> &'static str {
        match self {
            Verdict::Ok => "ok",
            Verdict::Warning => "warning",
            Verdict::Failed => "failed",
        }
    }

    fn role(self) -> Role {
        match self {
            Verdict::Ok => Role::Good,
            Verdict::Warning => Role::Warn,
            Verdict::Failed => Role::Bad,
        }
    }
}

/// One check and what it found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::cli) struct Check {
    pub(in crate::cli) name: &'static str,
    pub(in crate::cli) verdict: Verdict,
    /// What was found, in one or a few sentences.
    pub(in crate::cli) found: String,
    /// What to do about it, one step each.
    pub(in crate::cli) fixes: Vec<String>,
    /// It failed because nobody is logged in.
    pub(super) auth: bool,
}

impl Check {
    pub(super) fn ok(name: &'static str, found: impl Into<String>) -> Check {
        Check {
            name,
            verdict: Verdict::Ok,
            found: found.into(),
            fixes: Vec::new(),
            auth: false,
        }
    }

    pub(super) fn warning(name: &'static str, found: impl Into<String>) -> Check {
        Check {
            verdict: Verdict::Warning,
            ..Check::ok(name, found)
        }
    }

    pub(super) fn failed(name: &'static str, found: impl Into<String>) -> Check {
        Check {
            verdict: Verdict::Failed,
            ..Check::ok(name, found)
        }
    }

    /// Adds a step that mends it.
    pub(super) fn fix(mut self, step: impl Into<String>) -> Check {
        self.fixes.push(step.into());
        self
    }

    /// A check that an error answers: its hints are the fixes.
    pub(super) fn from_error(name: &'static str, error: &CliError) -> Check {
        Check {
            fixes: error.hint.clone(),
            ..Check::failed(name, format!("{} [{}]", error.message, error.code))
        }
    }
}

pub(super) fn document(checks: &[Check]) -> Value {
    let rows: Vec<Value> = checks
        .iter()
        .map(|check| {
            json!({
                "name": check.name,
                "result": check.verdict.name(),
                "message": check.found,
                "fixes": check.fixes,
            })
        })
        .collect();
    let ok = checks.iter().all(|check| check.verdict != Verdict::Failed);
    json!({"ok": ok, "checks": rows})
}

pub(super) fn details(checks: &[Check]) -> Details {
    let mut details = Details::new();
    for check in checks {
        let word = Cell::word(check.verdict.name(), check.verdict.role());
        details = details.judged(check.name, word, &check.found);
        for fix in &check.fixes {
            details = details.judged("", Cell::word("fix:", Role::Active), fix);
        }
    }
    details
}
