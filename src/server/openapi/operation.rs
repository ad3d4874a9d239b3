//! One route of the table as an operation of OpenAPI, from its description.

use schemars::{SchemaGenerator, generate::SchemaSettings};
use serde_json::{Map, Value, json};

use super::describe::{Describe, Gives, Makes, describe};
use super::parameter::Parameter;
use crate::api::ErrorEnvelope;
use crate::api::strict::Forms;
use crate::server::routes::{ROUTES, Route};

/// Turns routes into operations, and gathers the schemas that these refer to.
pub(super) struct Schemas {
    forms: Forms,
    answers: SchemaGenerator,
}

impl Schemas {
    /// None yet.
    pub(super) fn new() -> Schemas {
        let mut settings = SchemaSettings::draft2020_12().for_serialize();
        settings.definitions_path = "/components/schemas".into();
        settings.meta_schema = None;
        Schemas {
            forms: Forms::default(),
            answers: SchemaGenerator::new(settings),
        }
    }

    /// The body of every refusal.
    pub(super) fn envelope(&mut self) -> Value {
        self.answers.subschema_for::<ErrorEnvelope>().to_value()
    }

    /// Everything that was referred to.
    pub(super) fn named(mut self) -> Value {
        let mut named = self.answers.take_definitions(true);
        named.extend(self.forms.into_named());
        named.sort_keys();
        named.into()
    }

    /// One route, with its parameters, its body and its answers.
    pub(super) fn operation(&mut self, route: &Route) -> Value {
        let mut operation = json!({"tags": [tag(route)]});
        let described = describe(route.call);
        let headers: &[Parameter] = described.as_ref().map_or(&[], |d| d.headers);
        let query: &[Parameter] = described.as_ref().map_or(&[], |d| d.query);
        let beta: &[Parameter] = if route.wants_beta() {
            &[Parameter::OpenAiBeta]
        } else {
            &[]
        };
        let ids = ids(route).map(
            |id| json!({"name": id, "in": "path", "required": true, "schema": {"type": "string"}}),
        );
        let others = [beta, headers, query].concat();
        let parameters: Vec<Value> = ids.chain(others.into_iter().map(Parameter::told)).collect();
        if !parameters.is_empty() {
            operation["parameters"] = parameters.into();
        }
        operation["security"] = match route.needs_key() {
            true => {
                let scopes = route.needs().iter().map(|scope| scope.name());
                json!([{"key": scopes.collect::<Vec<_>>()}])
            }
            false => json!([]),
        };
        let mut statuses = refusals(route, described.as_ref());
        let mut responses = Map::new();
        if let Some(described) = &described {
            operation["summary"] = described.summary.into();
            if let Some(takes) = &described.takes {
                operation["requestBody"] = json!({
                    "required": !takes.optional,
                    "content": {takes.media: {
                        "schema": (takes.schema)(&self.forms),
                        "example": takes.example,
                    }},
                });
            }
            let gives = &described.gives;
            operation["operationId"] = operation_id(route).into();
            let response = self.good(route, gives, described.makes);
            responses.insert(gives.status.to_string(), response);
        } else {
            operation["summary"] = "Not built".into();
            statuses.push(501);
        }
        statuses.sort_unstable();
        statuses.dedup();
        for status in statuses {
            let refer = json!({"$ref": format!("#/components/responses/{status}")});
            responses.insert(status.to_string(), refer);
        }
        operation["responses"] = responses.into();
        operation
    }

    fn good(&mut self, route: &Route, gives: &Gives, makes: Option<Makes>) -> Value {
        let mut response = json!({
            "description": gives.what,
            "headers": {"x-request-id": {"$ref": "#/components/headers/x-request-id"}},
        });
        for (name, words) in gives.headers {
            response["headers"][name] =
                json!({"description": words, "required": true, "schema": {"type": "string"}});
        }
        for (media, schema) in &gives.content {
            response["content"][media]["schema"] = schema(&mut self.answers);
        }
        if let Some(makes) = makes {
            response["links"] = links(route, makes);
        }
        response
    }
}

/// The kind of resource that a route is about.
fn tag(route: &Route) -> &'static str {
    if describe(route.call).is_none() {
        return "not built";
    }
    let kinds = [
        "artifacts",
        "subagents",
        "traces",
        "turns",
        "items",
        "events",
        "sessions",
    ];
    let further = ["agents", "environments", "vaults", "files"];
    let within = |kind: &&&str| route.path.split('/').any(|part| part == **kind);
    kinds
        .iter()
        .chain(&further)
        .find(within)
        .copied()
        .unwrap_or("server")
}

/// The path parameters of a route, in order.
fn ids(route: &Route) -> impl Iterator<Item = &'static str> {
    route
        .path
        .split('/')
        .filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
}

fn operation_id(route: &Route) -> String {
    let mut name = format!("{:?}", route.call);
    if let Some(first) = name.get_mut(..1) {
        first.make_ascii_lowercase();
    }
    // Some calls answer several routes.
    let same = ROUTES.iter().filter(|other| other.call == route.call);
    let before = same.take_while(|other| other.path != route.path).count();
    match before {
        0 => name,
        _ => format!("{name}{}", before + 1),
    }
}

/// What may be answered instead of what was asked for.
fn refusals(route: &Route, described: Option<&Describe>) -> Vec<u16> {
    let mut statuses = vec![400, 500, 503];
    if route.needs_key() {
        statuses.extend([401, 403, 429]);
    }
    let Some(described) = described else {
        return statuses;
    };
    // A list does not go on behind what is not in it.
    if ids(route).next().is_some() || described.query.contains(&Parameter::After) {
        statuses.push(404);
    }
    if described.takes.is_some() {
        statuses.extend([408, 413]);
    }
    statuses.extend(described.refuses);
    statuses
}

/// The routes that the id in an answer leads to: those that ask for it, and beside it for what this route was asked with.
fn links(route: &Route, (parameter, at): Makes) -> Value {
    let mut links = Map::new();
    for other in ROUTES.iter().filter(|other| describe(other.call).is_some()) {
        let known = |id: &str| id == parameter || ids(route).any(|own| own == id);
        if !ids(other).any(|id| id == parameter) || !ids(other).all(known) {
            continue;
        }
        let parameters: Map<String, Value> = ids(other)
            .map(|id| {
                let from = match id == parameter {
                    true => format!("$response.body#{at}"),
                    false => format!("$request.path.{id}"),
                };
                (id.to_owned(), from.into())
            })
            .collect();
        let id = operation_id(other);
        links.insert(
            id.clone(),
            json!({"operationId": id, "parameters": parameters}),
        );
    }
    links.into()
}
