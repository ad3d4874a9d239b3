//! The question how to answer what a Session waits for. Pure.
//!
//! It opens on nothing: leaving it is what `enter` and `esc` do. An answer keeps its key until it is known to be accepted or is another one.

use super::action::{Action, Place};
use super::composer::{Tone, receipt_words};
use super::field::Field;
use super::login::Login;
use super::msg::Trouble;
use crate::api::{
    BrowserAuthenticationAnswer, ComputerUseApprovalInput, ComputerUseRequest, ComputerUseResponse,
    Decision, FunctionOutput, InputEvent, McpApprovalInput, McpApprovalResponse, RequiredAction,
    ToolResultInput,
};
use crate::engine::ports::Submitted;

/// What is being written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writing {
    /// What the function returned.
    Result,
    /// Why it failed.
    Failure,
    /// A login, filled in.
    Login,
}

/// See the module.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The Session.
    pub session: String,
    /// What it waits for.
    pub action: RequiredAction,
    /// Text is written; what is asked is chosen otherwise.
    pub writing: Option<Writing>,
    /// The text.
    pub field: Field,
    /// The login form, while it is filled in.
    pub login: Option<Login>,
    /// The key under which an answer is being sent.
    pub sending: Option<String>,
    /// What there is to say about the answer.
    pub says: Option<(Tone, String)>,
    /// What was sent without a clear answer, and under which key.
    doubtful: Option<(String, InputEvent)>,
    sent: Option<InputEvent>,
}

/// What a key led to.
#[derive(Clone, Debug, PartialEq)]
pub enum Then {
    /// The question stays.
    Stay,
    /// It is left; nothing happens.
    Leave,
    /// To the next open question.
    Next,
    /// The answer is to be sent, if the question is still open.
    Send(Box<InputEvent>),
    /// Text is to be written in an editor.
    Edit,
}

/// What tells one thing that a Session waits for from another.
pub fn identity(action: &RequiredAction) -> &str {
    match action {
        RequiredAction::FunctionCall { call_id, .. } => call_id,
        RequiredAction::McpApprovalRequest { request_id, .. }
        | RequiredAction::ComputerUseApprovalRequest { request_id, .. } => request_id,
        RequiredAction::EnvironmentConnection { environment_id } => environment_id,
    }
}

/// How a question can be answered: a key and what it does.
pub fn choices(action: &RequiredAction) -> &'static [(Action, &'static str)] {
    match action {
        RequiredAction::FunctionCall { .. } => &[
            (Action::WriteResult, "r  write the result"),
            (Action::WriteFailure, "f  say why the function failed"),
        ],
        RequiredAction::McpApprovalRequest { .. } => &[
            (Action::Approve, "a  approve this call"),
            (Action::Deny, "d  deny it, and tell the agent so"),
            (Action::Dismiss, "x  dismiss the question"),
        ],
        RequiredAction::ComputerUseApprovalRequest { request, .. } => match request {
            ComputerUseRequest::BrowserOriginAccess { .. } => &[
                (Action::Approve, "a  approve the access"),
                (Action::Deny, "d  deny it, and tell the agent so"),
                (Action::Dismiss, "x  dismiss the question"),
            ],
            ComputerUseRequest::BrowserAuthentication(_) => &[
                (Action::LogIn, "l  log in"),
                (Action::Dismiss, "x  do not log in"),
            ],
        },
        RequiredAction::EnvironmentConnection { .. } => &[],
    }
}

impl Answer {
    /// The question about one thing.
    pub fn new(session: String, action: RequiredAction) -> Answer {
        Answer {
            session,
            action,
            writing: None,
            field: Field::default(),
            login: None,
            sending: None,
            says: None,
            doubtful: None,
            sent: None,
        }
    }

    /// Where keys go.
    pub fn place(&self) -> Place {
        match self.writing {
            Some(Writing::Login) => Place::Login,
            Some(_) => Place::AnswerText,
            None => Place::Answer,
        }
    }

    /// What a key leads to.
    pub fn act(&mut self, action: Action) -> Then {
        match (self.writing, action) {
            (Some(_), Action::Back) => (self.writing, self.login) = (None, None),
            (None, Action::Back) => return Then::Leave,
            _ if self.sending.is_some() => {}
            (None, Action::Next) => return Then::Next,
            (Some(Writing::Login), action) => return self.log_in(action),
            (Some(_), Action::Editor) => return Then::Edit,
            (Some(writing), Action::Send) => return self.written(writing),
            (Some(_), action) => {
                self.field.edit(action);
            }
            (None, action) if !choices(&self.action).iter().any(|(of, _)| *of == action) => {}
            (None, Action::LogIn) => self.open_login(),
            (None, Action::WriteResult) => self.write(Writing::Result),
            (None, Action::WriteFailure) => self.write(Writing::Failure),
            (None, action) => {
                if let Some(event) = self.decided(action) {
                    return Then::Send(Box::new(event));
                }
            }
        }
        Then::Stay
    }

    fn write(&mut self, writing: Writing) {
        (self.writing, self.says) = (Some(writing), None);
    }

    fn open_login(&mut self) {
        if let RequiredAction::ComputerUseApprovalRequest {
            request: ComputerUseRequest::BrowserAuthentication(form),
            ..
        } = &self.action
        {
            self.login = Some(Login::new(form.clone()));
            self.write(Writing::Login);
        }
    }

    fn log_in(&mut self, action: Action) -> Then {
        let RequiredAction::ComputerUseApprovalRequest { request_id, .. } = &self.action else {
            return Then::Stay;
        };
        let Some(login) = &mut self.login else {
            return Then::Stay;
        };
        if action != Action::Send {
            login.act(action);
            return Then::Stay;
        }
        match login.answer() {
            Ok(answer) => Then::Send(Box::new(InputEvent::ComputerUseApprovalRequestResult(
                ComputerUseApprovalInput {
                    request_id: request_id.clone(),
                    response: ComputerUseResponse::BrowserAuthentication(answer),
                },
            ))),
            Err(why) => {
                self.says = Some((Tone::Plain, why));
                Then::Stay
            }
        }
    }

    /// Takes in text that was typed or pasted, where any is typed. `false`: it would be too long.
    pub fn insert(&mut self, text: &str) -> bool {
        match (self.writing, &mut self.login) {
            _ if self.sending.is_some() => true,
            (Some(Writing::Login), Some(login)) => login.insert(text),
            (Some(Writing::Result | Writing::Failure), _) => self.field.insert(text),
            _ => true,
        }
    }

    /// Whether anything was written that would be a pity to lose.
    pub fn is_written(&self) -> bool {
        let login = self.login.as_ref();
        !self.field.text().trim().is_empty() || login.is_some_and(Login::is_written)
    }

    fn written(&mut self, writing: Writing) -> Then {
        let RequiredAction::FunctionCall {
            call_id, turn_id, ..
        } = &self.action
        else {
            return Then::Stay;
        };
        let text = self.field.text();
        if text.trim().is_empty() {
            self.says = Some((Tone::Plain, "there is nothing to send".to_owned()));
            return Then::Stay;
        }
        let (output, error) = match writing {
            Writing::Result => (Some(FunctionOutput::Text(text.to_owned())), None),
            Writing::Failure => (None, Some(text.to_owned())),
            Writing::Login => return Then::Stay,
        };
        Then::Send(Box::new(InputEvent::ToolResult(ToolResultInput {
            call_id: call_id.clone(),
            success: error.is_none(),
            turn_id: turn_id.clone(),
            error,
            output,
        })))
    }

    fn decided(&self, action: Action) -> Option<InputEvent> {
        let decision = match action {
            Action::Approve => Decision::Approve,
            Action::Deny => Decision::Deny,
            Action::Dismiss => Decision::Cancel,
            _ => return None,
        };
        match &self.action {
            RequiredAction::McpApprovalRequest { request_id, .. } => {
                Some(InputEvent::McpApprovalRequestResult(McpApprovalInput {
                    request_id: request_id.clone(),
                    response: McpApprovalResponse { decision },
                }))
            }
            RequiredAction::ComputerUseApprovalRequest {
                request_id,
                request,
                ..
            } => {
                let response = match request {
                    ComputerUseRequest::BrowserOriginAccess { .. } => {
                        ComputerUseResponse::BrowserOriginAccess { decision }
                    }
                    ComputerUseRequest::BrowserAuthentication(_) => {
                        ComputerUseResponse::BrowserAuthentication(
                            BrowserAuthenticationAnswer::Cancel,
                        )
                    }
                };
                Some(InputEvent::ComputerUseApprovalRequestResult(
                    ComputerUseApprovalInput {
                        request_id: request_id.clone(),
                        response,
                    },
                ))
            }
            RequiredAction::FunctionCall { .. } | RequiredAction::EnvironmentConnection { .. } => {
                None
            }
        }
    }

    /// The key under which this is sent: that of the last attempt if it is the same answer again.
    pub fn send(&mut self, event: &InputEvent, spare_key: &str) -> String {
        let same = self.doubtful.take().filter(|(_, of)| of == event);
        let key = same.map_or_else(|| spare_key.to_owned(), |(key, _)| key);
        (self.sending, self.sent) = (Some(key.clone()), Some(event.clone()));
        self.says = Some((Tone::Plain, "sending".to_owned()));
        key
    }

    /// Takes in what became of it. What it says then is said by the transcript, and the question is over.
    pub fn answered(&mut self, result: &Result<Submitted, Trouble>) -> Option<(Tone, String)> {
        let (key, sent) = (self.sending.take()?, self.sent.take()?);
        match result {
            Ok(submitted) => {
                let words = format!("accepted: {}", receipt_words(submitted));
                Some((Tone::Good, words))
            }
            Err(trouble) => {
                self.says = Some(match trouble.unknown {
                    true => (
                        Tone::Warn,
                        format!(
                            "not known whether it was accepted ({}); sending it again can't send it twice",
                            trouble.words
                        ),
                    ),
                    false => (Tone::Bad, format!("not sent: {}", trouble.words)),
                });
                self.doubtful = trouble.unknown.then_some((key, sent));
                None
            }
        }
    }
}
