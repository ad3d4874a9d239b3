//! MCP servers of the Agent, between Codex and where they are.
//!
//! Codex speaks MCP with them and chooses what to call; it reaches none of them itself. A server over stdio is a process in the Session's
//! environment, started by the exec server (`exec::servers`); one over HTTP is behind `http`, on the port of the model proxy. Both ways every
//! message passes here: a call of a tool is recorded before it is passed on, it is passed on once, and its answer is known here
//! before Codex hears it. Where a server is, and with which credentials it is asked, Codex is not told.

mod calls;
pub mod http;
pub mod message;
mod outcome;
pub mod reach;
mod servers;

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::Value;
use tokio::sync::{mpsc, oneshot};

pub use self::calls::{CallEnd, Calls, Outcome};
use self::message::ToolCall;
pub use self::outcome::{bounded, recorded};
pub use self::servers::{
    Endpoint, HttpServer, Place, Server, StdioServer, config, of_agent, place_of_program,
};
use super::exec::{Effect, Gate};

/// The servers of one process of Codex.
pub struct Mcp {
    /// In the order of the Agent's tools.
    pub servers: Vec<Server>,
    /// Calls that were passed on.
    pub calls: Calls,
    gates: mpsc::Sender<Gate>,
    /// Why a server is not there, by its place.
    troubles: Mutex<BTreeMap<usize, String>>,
}

impl Mcp {
    /// Effects are asked for over `gates`.
    pub fn new(servers: Vec<Server>, gates: mpsc::Sender<Gate>) -> Mcp {
        Mcp {
            servers,
            calls: Calls::default(),
            gates,
            troubles: Mutex::default(),
        }
    }

    /// Has a call recorded before it is passed on to the server at `place`; under which id it is.
    ///
    /// # Errors
    /// It must not be, with a reason for the agent.
    pub async fn pass(&self, place: usize, call: &ToolCall) -> Result<String, String> {
        let server = self.servers.get(place).ok_or("there is no such server")?;
        if !server.allows(&call.tool) {
            let label = &server.label;
            let tool = &call.tool;
            return Err(format!(
                "the Agent may not call {tool} of {label}; nothing was done"
            ));
        }
        let call_id = call.call_id.as_deref();
        let call_id = call_id.ok_or("no call of the model asked for this; nothing was done")?;
        let refused = || "the turn is over; nothing was done".to_owned();
        let (answer, answered) = oneshot::channel();
        let effect = Effect::Tool {
            call_id: call_id.to_owned(),
            server_label: server.label.clone(),
            tool: call.tool.clone(),
        };
        let gate = Gate { effect, answer };
        self.gates.send(gate).await.map_err(|_| refused())?;
        let recorded = answered.await.unwrap_or_else(|_| Err(refused()))?;
        match self.calls.begin(&recorded, place, call.rpc_id.clone()) {
            true => Ok(recorded),
            false => Err("it was passed on before, and is not repeated".to_owned()),
        }
    }

    /// A server said something; if it is the answer to a call, the call is over.
    pub fn heard(&self, place: usize, message: &Value) {
        if let Some((rpc_id, answer)) = message::answer(message) {
            self.calls.answered(place, rpc_id, answer);
        }
    }

    /// A server can't be reached, or is gone. The last reason is kept.
    pub fn trouble(&self, place: usize, why: String) {
        self.troubles().insert(place, why);
    }

    /// Why the server of this label is not there, if that is known.
    pub fn trouble_of(&self, label: &str) -> Option<String> {
        let place = self
            .servers
            .iter()
            .position(|server| server.label == label)?;
        self.troubles().get(&place).cloned()
    }

    fn troubles(&self) -> MutexGuard<'_, BTreeMap<usize, String>> {
        self.troubles.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
