//! What each route takes and gives: the data that `/openapi.json` is made from.
//!
//! A route's path and method stand in the table of routes, the fields of bodies in the types; here is what ties them together. A
//! query parameter that is not listed here is refused before its route is called, so none can be forgotten.

use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Value, json};

use super::parameter::Parameter::{self, *};
use crate::api::strict::{Forms, Read};
use crate::api::{
    Agent, AgentCreateParams, AgentDeleted, AgentSession, AgentSessionDeleted, AgentUpdateParams,
    Credential, CredentialCreateParams, CredentialDeleted, CredentialUpdateParams, EnvironmentFile,
    EnvironmentInfo, EnvironmentTemplate, EnvironmentTemplateDeleted, Event, EventCreateParams,
    FileDeleted, FileObject, FilePurpose, HostedFileParam, Item, Page, RECEIPT_HEADER,
    SessionArtifact, SessionArtifactDeleted, SessionCreateParams, SessionTrace,
    SessionUpdateParams, Subagent, TemplateCreateParams, TemplateUpdateParams, TokenPage, Turn,
    Vault, VaultCreateParams, VaultDeleted, VaultUpdateParams, Words,
};
use crate::server::files::LIFETIMES_S;
use crate::server::routes::Call;

/// See the module.
pub(in crate::server) struct Describe {
    /// In a few words.
    pub(super) summary: &'static str,
    /// Parameters of the query.
    pub(in crate::server) query: &'static [Parameter],
    /// Headers of the request that mean something here.
    pub(super) headers: &'static [Parameter],
    /// The body.
    pub(super) takes: Option<Takes>,
    /// The answer when all is well; `None` if there never is one.
    pub(super) gives: Gives,
    /// Statuses of refusals, beside those that every route of its kind has.
    pub(super) refuses: &'static [u16],
    /// The answer has an id that other routes take.
    pub(super) makes: Option<Makes>,
}

/// The name of a path parameter, and where in the answer its value is.
pub(super) type Makes = (&'static str, &'static str);

/// A body.
pub(super) struct Takes {
    /// In which media type.
    pub(super) media: &'static str,
    /// What its reader takes.
    pub(super) schema: fn(&Forms) -> Value,
    /// Whether it may be left out.
    pub(super) optional: bool,
    /// One that is taken.
    pub(super) example: Value,
}

/// A media type, and what is in it.
pub(super) type Content = (&'static str, fn(&mut SchemaGenerator) -> Value);

/// An answer.
pub(super) struct Gives {
    /// Its status.
    pub(super) status: u16,
    /// In a few words.
    pub(super) what: &'static str,
    /// Media types, and what each holds.
    pub(super) content: Vec<Content>,
    /// Its headers, and what they say.
    pub(super) headers: &'static [(&'static str, &'static str)],
}

const JSON: &str = "application/json";
const BYTES: &str = "application/octet-stream";
const PAGE: &[Parameter] = &[After, Limit, Order];

fn takes<T: Read>(example: Value) -> Takes {
    fn schema<T: Read>(forms: &Forms) -> Value {
        forms
            .of::<T>()
            .expect("a reader refuses nothing of what it asks for itself")
    }
    Takes {
        media: JSON,
        schema: schema::<T>,
        optional: false,
        example,
    }
}

fn shows<T: JsonSchema>(generator: &mut SchemaGenerator) -> Value {
    generator.subschema_for::<T>().to_value()
}

fn text(_: &mut SchemaGenerator) -> Value {
    json!({"type": "string"})
}

fn anything(_: &mut SchemaGenerator) -> Value {
    json!({})
}

/// What a block of a stream holds. It says of one block what the whole answer repeats: OpenAPI 3.1 has no words for more.
fn events(generator: &mut SchemaGenerator) -> Value {
    json!({
        "type": "object",
        "description": "One block.",
        "properties": {
            "event": {"type": "string", "description": "The event's type."},
            "data": {
                "type": "string",
                "description": "The event.",
                "contentMediaType": JSON,
                "contentSchema": shows::<Event>(generator),
            },
        },
        "required": ["event", "data"],
    })
}

fn gives<T: JsonSchema>(what: &'static str) -> Gives {
    gives_content(what, vec![(JSON, shows::<T>)])
}

fn gives_content(what: &'static str, content: Vec<Content>) -> Gives {
    Gives {
        status: 200,
        what,
        content,
        headers: &[],
    }
}

impl Describe {
    fn new(summary: &'static str, gives: Gives) -> Describe {
        Describe {
            summary,
            query: &[],
            headers: &[],
            takes: None,
            gives,
            refuses: &[],
            makes: None,
        }
    }

    /// Of a list: its pages can be asked for, and the first id of one is an id to go on with.
    fn list<T: JsonSchema>(summary: &'static str) -> Describe {
        let what = "A page of the list, newest first unless asked otherwise.";
        Describe::new(summary, gives::<Page<T>>(what)).query(PAGE)
    }

    fn query(mut self, query: &'static [Parameter]) -> Describe {
        self.query = query;
        self
    }

    fn headers(mut self, headers: &'static [Parameter]) -> Describe {
        self.headers = headers;
        self
    }

    fn takes(mut self, takes: Takes) -> Describe {
        self.takes = Some(takes);
        self
    }

    fn takes_optionally(self, mut takes: Takes) -> Describe {
        takes.optional = true;
        self.takes(takes)
    }

    fn refuses(mut self, refuses: &'static [u16]) -> Describe {
        self.refuses = refuses;
        self
    }

    fn makes(mut self, parameter: &'static str, at: &'static str) -> Describe {
        self.makes = Some((parameter, at));
        self
    }
}

/// What a route that calls this takes and gives; `None` of one that is not built.
pub(in crate::server) fn describe(call: Call) -> Option<Describe> {
    Some(match call {
        Call::NotBuilt => return None,
        Call::Health => Describe::new(
            "Whether the process lives",
            gives_content("It does.", vec![("text/plain", text)]),
        ),
        Call::Ready => Describe::new(
            "Whether the store answers",
            gives_content("It does.", vec![("text/plain", text)]),
        ),
        Call::Metrics => Describe::new(
            "Numbers for who watches over it, in the text format of Prometheus",
            gives_content("All of them.", vec![("text/plain", text)]),
        ),
        Call::OpenApi => Describe::new(
            "This document",
            gives_content("OpenAPI 3.1.", vec![(JSON, anything)]),
        ),
        Call::CreateAgent
        | Call::ListAgents
        | Call::GetAgent
        | Call::UpdateAgent
        | Call::DeleteAgent => of_agents(call),
        Call::CreateSession
        | Call::ListSessions
        | Call::GetSession
        | Call::UpdateSession
        | Call::DeleteSession => of_sessions(call),
        Call::SendEvents | Call::StreamEvents => of_events(call),
        Call::ListItems => Describe::list::<Item>("Lists the transcript of a Session"),
        Call::ListTurns => {
            Describe::list::<Turn>("Lists the Turns of a Session").makes("turn_id", "/data/0/id")
        }
        Call::GetTurn => Describe::new("Gets a Turn", gives::<Turn>("The Turn.")),
        Call::ListTurnItems => Describe::list::<Item>("Lists the transcript of a Turn"),
        Call::ListTraces => Describe::list::<SessionTrace>("Lists traces: there are none"),
        Call::ListSubagents
        | Call::GetSubagent
        | Call::ListSubagentItems
        | Call::ListSubagentTurns
        | Call::GetSubagentTurn
        | Call::ListSubagentTurnItems => of_subagents(call),
        Call::CreateFile
        | Call::ListFiles
        | Call::GetFile
        | Call::DeleteFile
        | Call::GetFileContent => of_files(call),
        Call::ListArtifacts => {
            Describe::list::<SessionArtifact>("Lists the output files of a Session")
                .query(&[After, Limit, Order, EnvironmentId])
                .makes("artifact_id", "/data/0/id")
        }
        Call::GetArtifact => Describe::new(
            "Gets an output file's description",
            gives::<SessionArtifact>("The Artifact."),
        ),
        Call::DeleteArtifact => Describe::new(
            "Deletes an output file; the file in the environment stays",
            gives::<SessionArtifactDeleted>("It is deleted."),
        )
        .refuses(&[409]),
        Call::CreateVault
        | Call::ListVaults
        | Call::GetVault
        | Call::UpdateVault
        | Call::DeleteVault => of_vaults(call),
        Call::CreateCredential
        | Call::ListCredentials
        | Call::GetCredential
        | Call::UpdateCredential
        | Call::DeleteCredential => of_credentials(call),
        Call::GetEnvironment | Call::PutEnvironmentFile | Call::ListEnvironmentFiles => {
            of_environments(call)
        }
        Call::CreateTemplate
        | Call::ListTemplates
        | Call::GetTemplate
        | Call::UpdateTemplate
        | Call::DeleteTemplate => of_templates(call),
        Call::GetArtifactContent => Describe::new(
            "Downloads an output file",
            gives_content("Its bytes.", vec![(BYTES, anything)]),
        ),
    })
}

fn of_agents(call: Call) -> Describe {
    match call {
        Call::CreateAgent => Describe::new("Saves an Agent", gives::<Agent>("The Agent."))
            .takes(takes::<AgentCreateParams>(
                json!({"model": "demo", "name": "writer"}),
            ))
            .makes("agent_id", "/id"),
        Call::ListAgents => Describe::list::<Agent>("Lists saved Agents"),
        Call::UpdateAgent => Describe::new(
            "Changes a saved Agent; Sessions that exist keep what they have",
            gives::<Agent>("The Agent as it is now."),
        )
        .takes_optionally(takes::<AgentUpdateParams>(json!({"name": "editor"})))
        .refuses(&[409]),
        Call::DeleteAgent => Describe::new(
            "Deletes a saved Agent",
            gives::<AgentDeleted>("It is deleted."),
        ),
        _ => Describe::new("Gets a saved Agent", gives::<Agent>("The Agent.")),
    }
}

fn of_sessions(call: Call) -> Describe {
    match call {
        Call::CreateSession => {
            let what = "The Session; with `stream`, its events until its first Turn is over.";
            let content: Vec<Content> =
                vec![(JSON, shows::<AgentSession>), ("text/event-stream", events)];
            Describe::new(
                "Creates a Session, and starts its first Turn if there is input",
                gives_content(what, content),
            )
            .takes(takes::<SessionCreateParams>(json!({
                "agent": {"model": "demo"},
                "environment": {"type": "none"},
                "input": "Hello",
            })))
            .headers(&[IdempotencyKey])
            .refuses(&[404, 409])
            .makes("session_id", "/id")
        }
        Call::ListSessions => Describe::list::<AgentSession>("Lists Sessions")
            .query(&[After, Limit, Order, AgentId, Metadata]),
        Call::UpdateSession => Describe::new(
            "Changes a Session",
            gives::<AgentSession>("The Session as it is now."),
        )
        .takes_optionally(takes::<SessionUpdateParams>(
            json!({"metadata": {"team": "blue"}}),
        ))
        .refuses(&[409]),
        Call::DeleteSession => Describe::new(
            "Deletes a Session with all that belongs to it",
            gives::<AgentSessionDeleted>("It is deleted."),
        ),
        _ => Describe::new("Gets a Session", gives::<AgentSession>("The Session.")),
    }
}

fn of_files(call: Call) -> Describe {
    match call {
        Call::CreateFile => Describe::new("Uploads a file", gives::<FileObject>("The file."))
            .takes(Takes {
                media: "multipart/form-data",
                schema: upload,
                optional: false,
                example: json!({"file": "some text", "purpose": FilePurpose::UserData}),
            })
            .makes("file_id", "/id"),
        Call::ListFiles => {
            Describe::list::<FileObject>("Lists files").query(&[After, FilesLimit, Order, Purpose])
        }
        Call::DeleteFile => Describe::new("Deletes a file", gives::<FileDeleted>("It is deleted.")),
        Call::GetFileContent => Describe::new(
            "Downloads a file",
            gives_content("Its bytes.", vec![(BYTES, anything)]),
        ),
        _ => Describe::new(
            "Gets a file's description",
            gives::<FileObject>("The file."),
        ),
    }
}

/// The form of an upload, which is read part by part and not as a whole.
fn upload(_: &Forms) -> Value {
    let purposes = FilePurpose::ALL
        .iter()
        .filter(|for_what| for_what.is_for_clients());
    let purposes: Vec<&str> = purposes.map(|for_what| for_what.as_str()).collect();
    json!({
        "type": "object",
        "properties": {
            "file": {"type": "string", "format": "binary", "description": "The bytes, with a name."},
            "purpose": {"type": "string", "enum": purposes, "description": "What for."},
            "expires_after[anchor]": {
                "type": "string",
                "const": "created_at",
                "description": "Since when its lifetime counts.",
            },
            "expires_after[seconds]": {
                "type": "integer",
                "minimum": LIFETIMES_S.start(),
                "maximum": LIFETIMES_S.end(),
                "description": "Its lifetime.",
            },
        },
        "required": ["file", "purpose"],
        "dependentRequired": {
            "expires_after[anchor]": ["expires_after[seconds]"],
            "expires_after[seconds]": ["expires_after[anchor]"],
        },
        "additionalProperties": false,
    })
}

fn of_vaults(call: Call) -> Describe {
    match call {
        Call::CreateVault => Describe::new("Makes a vault", gives::<Vault>("The vault."))
            .takes_optionally(takes::<VaultCreateParams>(json!({"name": "work"})))
            .makes("vault_id", "/id"),
        Call::ListVaults => {
            Describe::list::<Vault>("Lists vaults").query(&[After, Limit, Order, Metadata, Status])
        }
        Call::UpdateVault => {
            Describe::new("Changes a vault", gives::<Vault>("The vault as it is now."))
                .takes_optionally(takes::<VaultUpdateParams>(json!({"name": "home"})))
        }
        Call::DeleteVault => Describe::new(
            "Deletes a vault with its credentials",
            gives::<VaultDeleted>("It is deleted."),
        ),
        _ => Describe::new("Gets a vault", gives::<Vault>("The vault.")),
    }
}

fn of_credentials(call: Call) -> Describe {
    let auth = json!({
        "type": "static_bearer",
        "token": "secret",
        "mcp_server_url": "https://mcp.example.org",
    });
    match call {
        Call::CreateCredential => Describe::new(
            "Puts a credential into a vault",
            gives::<Credential>("The credential, without its secrets."),
        )
        .takes(takes::<CredentialCreateParams>(
            json!({"name": "search", "auth": auth}),
        ))
        .makes("credential_id", "/id"),
        Call::ListCredentials => Describe::list::<Credential>("Lists credentials of a vault")
            .query(&[After, Limit, Order, Metadata, Status]),
        Call::UpdateCredential => Describe::new(
            "Changes a credential, or gives it new secrets for the same use",
            gives::<Credential>("The credential as it is now."),
        )
        .takes_optionally(takes::<CredentialUpdateParams>(
            json!({"metadata": {"team": "blue"}}),
        )),
        Call::DeleteCredential => Describe::new(
            "Deletes a credential",
            gives::<CredentialDeleted>("It is deleted."),
        ),
        _ => Describe::new(
            "Gets a credential",
            gives::<Credential>("The credential, without its secrets."),
        ),
    }
}

fn of_environments(call: Call) -> Describe {
    match call {
        Call::PutEnvironmentFile => Describe::new(
            "Puts a file into a live environment",
            gives::<EnvironmentFile>("The file."),
        )
        .takes(takes::<HostedFileParam>(json!({
            "type": "inline",
            "data": "aGVsbG8=",
            "path": "/workspace/hello.txt",
        })))
        .refuses(&[409]),
        Call::ListEnvironmentFiles => Describe::new(
            "Lists files of a live environment",
            gives::<TokenPage<EnvironmentFile>>("A page of the list, by path."),
        )
        .query(&[Page, Limit, Order, Path])
        .refuses(&[409]),
        _ => Describe::new(
            "Gets an environment",
            gives::<EnvironmentInfo>("Its state, and what was put there."),
        ),
    }
}

fn of_templates(call: Call) -> Describe {
    match call {
        Call::CreateTemplate => Describe::new(
            "Makes a template of environments",
            gives::<EnvironmentTemplate>("The template."),
        )
        .takes_optionally(takes::<TemplateCreateParams>(json!({"name": "work"})))
        .refuses(&[404])
        .makes("template_id", "/id"),
        Call::ListTemplates => Describe::list::<EnvironmentTemplate>("Lists templates"),
        Call::UpdateTemplate => Describe::new(
            "Changes a template; environments that exist stay as they are",
            gives::<EnvironmentTemplate>("The template as it is now."),
        )
        .takes_optionally(takes::<TemplateUpdateParams>(json!({"name": "play"}))),
        Call::DeleteTemplate => Describe::new(
            "Deletes a template",
            gives::<EnvironmentTemplateDeleted>("It is deleted."),
        ),
        _ => Describe::new(
            "Gets a template",
            gives::<EnvironmentTemplate>("The template."),
        ),
    }
}

fn of_subagents(call: Call) -> Describe {
    match call {
        Call::GetSubagent => Describe::new("Gets a subagent", gives::<Subagent>("The subagent.")),
        Call::ListSubagentItems => Describe::list::<Item>("Lists the transcript of a subagent"),
        Call::ListSubagentTurns => Describe::list::<Turn>("Lists the Turns of a subagent"),
        Call::GetSubagentTurn => {
            Describe::new("Gets a Turn of a subagent", gives::<Turn>("The Turn."))
        }
        Call::ListSubagentTurnItems => {
            Describe::list::<Item>("Lists the transcript of a subagent's Turn")
        }
        _ => Describe::list::<Subagent>("Lists the subagents of a Session, closed ones, too")
            .makes("subagent_id", "/data/0/id"),
    }
}

fn of_events(call: Call) -> Describe {
    match call {
        Call::SendEvents => {
            let gives = Gives {
                status: 202,
                what: "Accepted: it is on disk.",
                content: Vec::new(),
                headers: &[
                    ("x-receipt-id", "Which receipt proves it."),
                    (
                        "x-receipt-repeated",
                        "`true` if the same had been accepted before under this key.",
                    ),
                    (
                        RECEIPT_HEADER,
                        "The whole receipt as JSON: what became of each input, and the Turn that it goes to. Left out when it would be too long.",
                    ),
                ],
            };
            let text = json!([{"type": "input_text", "text": "Hello"}]);
            let message = json!({
                "type": "agent.session.input.message",
                "input": [{"type": "message", "role": "user", "content": text}],
            });
            Describe::new("Gives a Session input", gives)
                .takes(takes::<EventCreateParams>(json!({"events": [message]})))
                .headers(&[IdempotencyKey])
                .refuses(&[409])
        }
        _ => {
            let what = "Events as they happen, until the reader leaves: each block has an `event:` line with its type, and a `data:` line with the event in JSON. Lines that begin with a colon are signs of life.";
            Describe::new(
                "Streams what happens in a Session",
                gives_content(what, vec![("text/event-stream", events)]),
            )
            .query(&[IncludeObfuscation, Stream, AfterEvent, Follow])
            .headers(&[LastEventId])
        }
    }
}
