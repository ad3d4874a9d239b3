//! Names: of an execution, of its launch, and of the tags by which its machine is found.

use data_encoding::HEXLOWER;
use sha2::{Digest, Sha256};

use crate::engine::ports::{ExecutionId, RunGrant};

/// Tag of a machine: the Session that it is for.
pub const SESSION_TAG: &str = "rat-things:session";
/// Tag of a machine: the generation that it was launched for.
pub const GENERATION_TAG: &str = "rat-things:generation";
/// Tag of a machine: the token of its execution.
pub const EXECUTION_TAG: &str = "rat-things:execution";

/// Begins the name of each execution on a machine.
const PREFIX: &str = "ec2:";
/// Letters of a token, 5 bits each.
const LETTERS: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
/// Letters in a token: 130 bits.
const TOKEN_CHARS: usize = 26;

/// A name for an execution that nobody has yet, from random bytes.
pub(super) fn fresh(random: [u8; TOKEN_CHARS]) -> ExecutionId {
    let letter = |byte: u8| char::from(LETTERS[usize::from(byte % 32)]);
    let token: String = random.into_iter().map(letter).collect();
    ExecutionId(format!("{PREFIX}{token}"))
}

/// The execution with this token.
pub fn execution_of(token: &str) -> ExecutionId {
    ExecutionId(format!("{PREFIX}{token}"))
}

/// The token of an execution on a machine; `None` if it is none.
pub fn token_of(execution: &ExecutionId) -> Option<&str> {
    let token = execution.0.strip_prefix(PREFIX)?;
    let plain = token.bytes().all(|byte| LETTERS.contains(&byte));
    (token.len() == TOKEN_CHARS && plain).then_some(token)
}

/// Whether an execution is on a machine.
pub fn is_machine(execution: &ExecutionId) -> bool {
    execution.0.starts_with(PREFIX)
}

/// What makes a launch that is repeated the same launch: it follows from what is launched alone. At most 64 ASCII characters.
pub(super) fn client_token(deployment: &str, grant: &RunGrant) -> String {
    let of = [
        deployment,
        &grant.session,
        &grant.generation.to_string(),
        &grant.execution.0,
    ];
    HEXLOWER.encode(&Sha256::digest(of.join("\0").as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_read_back_and_nothing_else_is_one() {
        let execution = fresh([200; TOKEN_CHARS]);
        let token = token_of(&execution).expect("a token");
        assert_eq!(execution_of(token), execution);
        for bad in [
            "ec2:",
            "ec2:abc",
            "proc:1:2:b",
            "ec2:ABCDEFGHIJKLMNOPQRSTUVWXYZ",
        ] {
            assert_eq!(token_of(&ExecutionId(bad.to_owned())), None, "{bad}");
        }
    }

    #[test]
    fn a_launch_is_the_same_only_for_the_same_grant() {
        let grant = |session: &str, generation| RunGrant {
            session: session.to_owned(),
            generation,
            execution: fresh([7; TOKEN_CHARS]),
        };
        let token = client_token("d", &grant("s", 1));
        assert_eq!(token, client_token("d", &grant("s", 1)));
        assert!(token.len() <= 64 && token.is_ascii());
        for other in [
            client_token("e", &grant("s", 1)),
            client_token("d", &grant("s", 2)),
        ] {
            assert_ne!(token, other);
        }
    }
}
