//! Identifiers: a type prefix and 26 lower-case base32 characters (130 bits).
//!
//! Two kinds. *Random* ids name what a caller creates (Sessions, Agents, commits); they come from the [`Ids`] port.
//! *Derived* ids name what lives inside a Session (Turns, Items, Artifacts, Runs): 66 bits of a hash over the Session's id
//! and 64 bits that carry the row number under a mask from that hash. A retry derives the same id again, no index from id to
//! row is needed, and an id that was made up does not decode.

use std::fmt;

use data_encoding::{Encoding, Specification};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::sync::LazyLock;

use super::ports::Ids;

/// RFC 4648 base32 in lower case, without padding.
static BASE32: LazyLock<Encoding> = LazyLock::new(|| {
    let mut spec = Specification::new();
    spec.symbols.push_str("abcdefghijklmnopqrstuvwxyz234567");
    spec.encoding()
        .expect("a 32-letter alphabet is a valid specification")
});

/// Characters after the prefix of every id.
pub const ID_CHARS: usize = 26;

/// What an id names; the text before the underscore.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// `sess_`
    Session,
    /// `agent_`
    Agent,
    /// `env_`
    Environment,
    /// `turn_`
    Turn,
    /// `inp_`, one accepted input
    Input,
    /// `run_`
    Run,
    /// `artf_`
    Artifact,
    /// `msg_`, a message item
    Message,
    /// `rs_`, a reasoning item
    Reasoning,
    /// `cmd_`, a command execution item
    Command,
    /// `mcp_`, an item of a call of an MCP tool
    McpCall,
    /// `ws_`, an item of a search on the web
    WebSearch,
    /// `fc_`, a function call item
    FunctionCall,
    /// `fco_`, a function call's output item
    FunctionOutput,
    /// `sac_`, an item of work shared among agents
    SubagentCall,
    /// `sub_`, a subagent
    Subagent,
    /// `evt_`, one public event
    Event,
    /// `rcpt_`, a receipt
    Receipt,
    /// `dlv_`, a delivery
    Delivery,
    /// `exec_`, one execution of a worker
    Execution,
    /// `key_`, an access key
    AccessKey,
    /// `req_`, one request over HTTP
    Request,
    /// `file_`, an uploaded file
    File,
    /// `vault_`
    Vault,
    /// `cred_`, a credential of a vault
    Credential,
    /// `tmpl_`, a template of environments
    Template,
    /// `cfile_`, a file that an environment has from its beginning
    EnvironmentFile,
    /// `seal_`, the scope of sealed values, or of bytes, that one record names
    Seal,
}

impl Kind {
    /// The prefix with its underscore.
    pub fn prefix(self) -> &'static str {
        match self {
            Kind::Session => "sess_",
            Kind::Agent => "agent_",
            Kind::Environment => "env_",
            Kind::Turn => "turn_",
            Kind::Input => "inp_",
            Kind::Run => "run_",
            Kind::Artifact => "artf_",
            Kind::Message => "msg_",
            Kind::Reasoning => "rs_",
            Kind::Command => "cmd_",
            Kind::McpCall => "mcp_",
            Kind::WebSearch => "ws_",
            Kind::FunctionCall => "fc_",
            Kind::FunctionOutput => "fco_",
            Kind::SubagentCall => "sac_",
            Kind::Subagent => "sub_",
            Kind::Event => "evt_",
            Kind::Receipt => "rcpt_",
            Kind::Delivery => "dlv_",
            Kind::Execution => "exec_",
            Kind::AccessKey => "key_",
            Kind::Request => "req_",
            Kind::File => "file_",
            Kind::Vault => "vault_",
            Kind::Credential => "cred_",
            Kind::Template => "tmpl_",
            Kind::EnvironmentFile => "cfile_",
            Kind::Seal => "seal_",
        }
    }
}

/// A Session's id, as text.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SessionId(String);

impl SessionId {
    /// A new random id.
    pub fn random(ids: &dyn Ids) -> SessionId {
        SessionId(random(Kind::Session, ids))
    }

    /// Takes a complete id; `None` if it does not have the form of one.
    pub fn parse(text: &str) -> Option<SessionId> {
        well_formed(Kind::Session, text).then(|| SessionId(text.to_owned()))
    }

    /// The whole text, prefix included.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A new random id of `kind`.
pub fn random(kind: Kind, ids: &dyn Ids) -> String {
    let mut bytes = [0u8; 17];
    ids.fill(&mut bytes);
    text(kind, &bytes)
}

/// Whether `text` has the prefix, length and alphabet of a complete id of `kind`.
pub fn well_formed(kind: Kind, text: &str) -> bool {
    text.strip_prefix(kind.prefix())
        .is_some_and(|rest| rest.len() == ID_CHARS && rest.bytes().all(is_symbol))
}

/// Whether `text` could be the beginning of an id of `kind` (the prefix alone counts).
pub fn could_be_prefix(kind: Kind, text: &str) -> bool {
    text.strip_prefix(kind.prefix())
        .is_some_and(|rest| rest.len() <= ID_CHARS && rest.bytes().all(is_symbol))
}

fn is_symbol(b: u8) -> bool {
    b.is_ascii_lowercase() || (b'2'..=b'7').contains(&b)
}

/// The id of row `number` of `kind` inside `session`.
pub fn derived(kind: Kind, session: &SessionId, number: u64) -> String {
    let tag = tag(kind, session, number);
    packed(kind, session, number, &tag)
}

/// The id of something that is in no record but belongs to row `number`; `what` tells it from others there. It leads to the
/// number, too, but not to what it is.
pub fn beside(kind: Kind, session: &SessionId, number: u64, what: &str) -> String {
    let tag = tag_beside(kind, session, number, what.as_bytes());
    packed(kind, session, number, &tag)
}

/// The number that an id leads to which [`beside`] made for this Session and kind. One that was made up is taken for such an id
/// once in 2^24 times.
pub fn number_beside(kind: Kind, session: &SessionId, id: &str) -> Option<u64> {
    let (number, tag) = unpacked(kind, session, id)?;
    let known = tag_beside(kind, session, number, b"");
    (tag[..CHECK_BYTES] == known[..CHECK_BYTES]).then_some(number)
}

/// Bytes of the tag of an id beside a row that say that it is one.
const CHECK_BYTES: usize = 3;

fn tag_beside(kind: Kind, session: &SessionId, number: u64, what: &[u8]) -> [u8; 9] {
    let mut hash = Sha256::new();
    hash.update(b"rat-things/id-beside/1\0");
    let checked = tag(kind, session, number);
    hash.update(checked);
    let check = hash.clone().finalize();
    hash.update(what);
    let mut tag = [0u8; 9];
    tag.copy_from_slice(&hash.finalize()[..9]);
    tag[..CHECK_BYTES].copy_from_slice(&check[..CHECK_BYTES]);
    tag[8] &= 0b1100_0000;
    tag
}

fn packed(kind: Kind, session: &SessionId, number: u64, tag: &[u8; 9]) -> String {
    let masked = number ^ mask(kind, session, tag);
    let mut bytes = [0u8; 17];
    bytes[..8].copy_from_slice(&tag[..8]);
    // The tag's last two bits share a byte with the number's first six.
    let wide = (u128::from(tag[8] >> 6) << 126) | (u128::from(masked) << 62);
    bytes[8..].copy_from_slice(&wide.to_be_bytes()[..9]);
    text(kind, &bytes)
}

/// The row number in a derived id, if `id` was derived for this Session and kind.
pub fn number_of(kind: Kind, session: &SessionId, id: &str) -> Option<u64> {
    let (number, _) = unpacked(kind, session, id)?;
    (derived(kind, session, number) == id).then_some(number)
}

/// Number and tag of what may be an id of this Session and kind.
fn unpacked(kind: Kind, session: &SessionId, id: &str) -> Option<(u64, [u8; 9])> {
    if !well_formed(kind, id) {
        return None;
    }
    let mut padded = id[kind.prefix().len()..].to_owned();
    // 26 characters are 130 bits; two more characters make whole bytes for the decoder.
    padded.push_str("aa");
    let bytes = BASE32.decode(padded.as_bytes()).ok()?;
    let mut wide = [0u8; 16];
    wide[..9].copy_from_slice(bytes.get(8..17)?);
    let wide = u128::from_be_bytes(wide);
    let mut tag = [0u8; 9];
    tag[..8].copy_from_slice(&bytes[..8]);
    tag[8] = ((wide >> 126) as u8) << 6;
    let masked = (wide >> 62) as u64;
    Some((masked ^ mask(kind, session, &tag), tag))
}

fn tag(kind: Kind, session: &SessionId, number: u64) -> [u8; 9] {
    let mut hash = Sha256::new();
    hash.update(b"rat-things/id/1\0");
    hash.update(kind.prefix());
    hash.update(session.as_str());
    hash.update(number.to_be_bytes());
    let digest = hash.finalize();
    let mut tag = [0u8; 9];
    tag.copy_from_slice(&digest[..9]);
    tag[8] &= 0b1100_0000;
    tag
}

fn mask(kind: Kind, session: &SessionId, tag: &[u8; 9]) -> u64 {
    let mut hash = Sha256::new();
    hash.update(b"rat-things/id-mask/1\0");
    hash.update(kind.prefix());
    hash.update(session.as_str());
    hash.update(tag);
    let digest = hash.finalize();
    let mut mask = [0u8; 8];
    mask.copy_from_slice(&digest[..8]);
    u64::from_be_bytes(mask)
}

/// The first 130 bits of `bytes` behind the prefix.
fn text(kind: Kind, bytes: &[u8; 17]) -> String {
    let mut out = String::with_capacity(kind.prefix().len() + ID_CHARS);
    out.push_str(kind.prefix());
    let encoded = BASE32.encode(bytes);
    out.push_str(&encoded[..ID_CHARS]);
    out
}

/// Lower-case hex of the SHA-256 of `bytes`.
pub fn sha256_hex(bytes: &[u8]) -> String {
    data_encoding::HEXLOWER.encode(&Sha256::digest(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn session(c: char) -> SessionId {
        SessionId::parse(&format!("sess_{}", c.to_string().repeat(26))).expect("well formed")
    }

    proptest! {
        #[test]
        fn derived_ids_round_trip(n: u64) {
            let s = session('a');
            let id = derived(Kind::Turn, &s, n);
            prop_assert!(well_formed(Kind::Turn, &id));
            prop_assert_eq!(number_of(Kind::Turn, &s, &id), Some(n));
            prop_assert_eq!(number_of(Kind::Turn, &session('b'), &id), None);
        }

        #[test]
        fn every_beginning_of_an_id_could_be_one_and_only_a_whole_one_is(bytes: [u8; 17], cut in 0usize..=ID_CHARS, more in "[a-z2-7A-Z01/_ -]{1,3}") {
            let id = text(Kind::Session, &bytes);
            let beginning = &id[..Kind::Session.prefix().len() + cut];
            prop_assert!(could_be_prefix(Kind::Session, beginning));
            prop_assert_eq!(well_formed(Kind::Session, beginning), cut == ID_CHARS);
            prop_assert!(!could_be_prefix(Kind::Turn, beginning));
            let longer = format!("{id}{more}");
            prop_assert!(!could_be_prefix(Kind::Session, &longer) && !well_formed(Kind::Session, &longer));
        }

        #[test]
        fn a_range_of_ids_holds_those_that_begin_so_and_no_others(ids in prop::collection::vec("[a-z2-7]{3}", 1..20), beginning in "[a-z2-7]{0,3}") {
            use crate::engine::keys::session_by_id;
            use crate::engine::ports::Range;
            let range = Range::prefix("O/o", &session_by_id(&format!("sess_{beginning}")), 9);
            for id in ids {
                let sort = session_by_id(&format!("sess_{id}"));
                let inside = range.from <= sort && range.until.as_ref().is_none_or(|until| sort < *until);
                prop_assert_eq!(inside, id.starts_with(&beginning));
            }
        }

        #[test]
        fn invented_ids_do_not_decode(rest in "[a-z2-7]{26}") {
            prop_assert_eq!(number_of(Kind::Turn, &session('a'), &format!("turn_{rest}")), None);
        }
    }

    #[test]
    fn malformed_ids_are_refused() {
        for bad in [
            "",
            "sess_",
            "sess_ABC",
            "turn_aaaaaaaaaaaaaaaaaaaaaaaaaa",
            "sess_aaaaaaaaaaaaaaaaaaaaaaaaa1",
        ] {
            assert_eq!(SessionId::parse(bad), None, "{bad:?}");
        }
    }
}
