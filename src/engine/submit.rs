//! Submitting: the acting part of accept. It reads, lets [`decide`] decide, commits, and decides again when somebody else was quicker.

use super::accept::{Accepted, MAX_BATCH, Prepared, Rows, decide};
use super::core::{Core, Loaded, backoff};
use super::draft::Draft;
use super::error::EngineError;
use super::ids::{self, Kind, SessionId, sha256_hex};
use super::keys;
use super::ports::{FunctionAnswer, Key, StoreError};
use super::receipt::ReceiptRow;
use super::session::{ActiveTurn, Head, short_hash};
use super::settle::Attending;
use crate::api::{InputEvent, canonical_json};

/// The digest of a batch, over its canonical form: two clients that mean the same say the same.
pub fn digest_of(events: &[InputEvent]) -> String {
    let value = serde_json::to_value(events).unwrap_or_default();
    sha256_hex(&canonical_json(&value))
}

impl Core {
    /// Accepts a batch of inputs for a Session: whole or not at all, once per key (I1, I2).
    ///
    /// # Errors
    /// [`EngineError::KeyReused`] when the key was used with another body; refusals by the Session's state;
    /// [`EngineError::Unknown`] when the answer was lost, which the same call under the same key settles.
    pub async fn send(
        &self,
        owner: &str,
        session: &SessionId,
        key: &str,
        events: &[InputEvent],
    ) -> Result<Accepted, EngineError> {
        let digest = digest_of(events);
        let key_hash = keys::key_hash(key);
        let receipt_id = receipt_id(session, &key_hash);
        let mut loaded = self.load_owned(owner, session).await?;
        let batch = self.prepare(owner, session, &loaded.head, events).await?;
        for attempt in self.decisions() {
            if attempt > 0 {
                tokio::time::sleep(backoff(attempt.min(6))).await;
                loaded = self.load_owned(owner, session).await?;
            }
            let rows = self.rows_for(session, &loaded, &batch).await?;
            let mut draft = Draft::of(session, &loaded, self.clock.now_ms());
            let first_input = draft.head.next.input;
            let decided = decide(&mut draft, &rows, &batch);
            let receipt = match decided {
                Ok(outcomes) => ReceiptRow {
                    digest: digest.clone(),
                    first_input,
                    outcomes,
                    accepted_ms: draft.now_ms,
                },
                // What refuses now may be the echo of this very request, accepted earlier under its key.
                Err(refusal) => match self
                    .repeated(session, &key_hash, &digest, &receipt_id)
                    .await?
                {
                    Some(accepted) => return Ok(accepted),
                    None => return Err(refusal),
                },
            };
            draft.insert(keys::receipt(&key_hash), &receipt);
            let (commit, _) = draft.seal(&*self.ids);
            match self.commit_once(commit).await {
                Ok(()) => {
                    self.bell.ring(session.as_str());
                    return Ok(Accepted {
                        receipt,
                        receipt_id,
                        repeated: false,
                    });
                }
                Err(StoreError::Conflict(_)) => {
                    if let Some(accepted) = self
                        .repeated(session, &key_hash, &digest, &receipt_id)
                        .await?
                    {
                        return Ok(accepted);
                    }
                }
                Err(error) => return Err(error.into()),
            }
        }
        Err(EngineError::Busy {
            attempts: self.decisions().end,
        })
    }

    /// What was accepted earlier under this key, if it was.
    async fn repeated(
        &self,
        session: &SessionId,
        key_hash: &str,
        digest: &str,
        receipt_id: &str,
    ) -> Result<Option<Accepted>, EngineError> {
        let Some(receipt) = self
            .row::<ReceiptRow>(session, keys::receipt(key_hash))
            .await?
        else {
            return Ok(None);
        };
        if receipt.digest != digest {
            return Err(EngineError::KeyReused {
                stored: receipt.digest,
                given: digest.to_owned(),
            });
        }
        Ok(Some(Accepted {
            receipt,
            receipt_id: receipt_id.to_owned(),
            repeated: true,
        }))
    }

    /// The rows that a batch needs: none, when it only brings messages.
    async fn rows_for(
        &self,
        session: &SessionId,
        loaded: &Loaded,
        batch: &[Prepared],
    ) -> Result<Rows, EngineError> {
        let mut rows = Rows::default();
        if batch.iter().all(|p| matches!(p, Prepared::Message { .. })) {
            return Ok(rows);
        }
        if let Some(turn) = &loaded.head.turn {
            rows.active = Some((turn.number, self.attending(session, turn).await?));
        }
        for prepared in batch {
            if let Prepared::Cancel { turn: Some(named) } = prepared
                && loaded.head.queue.iter().any(|q| q.number == *named)
                && let Some(row) = self.row(session, keys::turn(*named)).await?
            {
                rows.queued.push((*named, row));
            }
        }
        Ok(rows)
    }

    /// The rows that the active Turn's next step needs.
    pub async fn attending(
        &self,
        session: &SessionId,
        turn: &ActiveTurn,
    ) -> Result<Attending, EngineError> {
        let numbers = Attending::item_numbers(turn);
        let partition = keys::session_partition(session);
        let mut wanted = vec![Key::new(partition.clone(), keys::turn(turn.number))];
        wanted.extend(
            numbers
                .iter()
                .map(|&n| Key::new(partition.clone(), keys::item(n))),
        );
        let mut records = self.store.get_many(&wanted).await?.into_iter();
        let missing = |key: &Key| EngineError::damaged(key, "it is missing");
        let row = records
            .next()
            .flatten()
            .ok_or_else(|| missing(&wanted[0]))?;
        let mut items = Vec::with_capacity(numbers.len());
        for ((number, record), key) in numbers.into_iter().zip(records).zip(&wanted[1..]) {
            items.push((
                number,
                super::core::decode(&record.ok_or_else(|| missing(key))?)?,
            ));
        }
        Ok(Attending {
            turn: super::core::decode(&row)?,
            items,
        })
    }

    /// Turns wire events into inputs: ids become numbers, large bodies become blobs (before any record names them).
    pub(super) async fn prepare(
        &self,
        owner: &str,
        session: &SessionId,
        head: &Head,
        events: &[InputEvent],
    ) -> Result<Vec<Prepared>, EngineError> {
        let scope = self.scope(owner, session);
        let mut batch = Vec::with_capacity(events.len());
        for (at, event) in events.iter().enumerate() {
            match event {
                InputEvent::Message(crate::api::MessageInput { input, delivery }) => {
                    for (n, message) in input.iter().enumerate() {
                        let content = serde_json::to_value(&message.content).unwrap_or_default();
                        batch.push(Prepared::Message {
                            content: self.keep(&scope, content).await?,
                            next_turn: delivery
                                .is_some_and(|d| d == crate::api::Delivery::NextTurn),
                            joins: n > 0,
                        });
                    }
                }
                InputEvent::Cancel(crate::api::CancelInput { turn_id }) => {
                    let turn = match turn_id {
                        Some(id) => Some(turn_number(session, head, id)?),
                        None => None,
                    };
                    batch.push(Prepared::Cancel { turn });
                }
                InputEvent::ToolResult(result) => {
                    let (call_id, turn_id) = (&result.call_id, &result.turn_id);
                    let answer = FunctionAnswer {
                        success: result.success,
                        output: serde_json::to_value(&result.output).unwrap_or_default(),
                        error: result.error.clone(),
                    };
                    let value = serde_json::to_value(&answer).unwrap_or_default();
                    let unknown = || EngineError::Invalid {
                        param: None,
                        message: format!("Unknown pending tool call: {call_id}"),
                    };
                    batch.push(Prepared::ToolResult {
                        turn: turn_number(session, head, turn_id).map_err(|_| unknown())?,
                        call_id: call_id.clone(),
                        digest: short_hash(&canonical_json(&value)),
                        answer: self.keep(&scope, value).await?,
                    });
                }
                InputEvent::McpApprovalRequestResult(_)
                | InputEvent::ComputerUseApprovalRequestResult(_) => {
                    return Err(EngineError::invalid(
                        &format!("events[{at}].request_id"),
                        "there is no pending approval request in this session",
                    ));
                }
            }
        }
        if batch.is_empty() {
            return Err(EngineError::invalid(
                "events",
                "events is empty: give at least one",
            ));
        }
        // Each input is two rows or three; a batch must fit one commit.
        if batch.len() > MAX_BATCH {
            return Err(EngineError::invalid(
                "events",
                format!("at most {MAX_BATCH} inputs at once"),
            ));
        }
        Ok(batch)
    }
}

/// `rcpt_…` of a key in a Session.
pub fn receipt_id(session: &SessionId, key_hash: &str) -> String {
    let number = u64::from_str_radix(&key_hash[..16], 16).unwrap_or_default();
    ids::derived(Kind::Receipt, session, number)
}

fn turn_number(session: &SessionId, head: &Head, id: &str) -> Result<u64, EngineError> {
    ids::number_of(Kind::Turn, session, id)
        .filter(|n| *n < head.next.turn)
        .ok_or_else(|| EngineError::not_found("turn", id))
}
