//! What belongs to somebody else does not exist, over every route of the router's table: whoever asks for it gets, byte for byte,
//! what is said of an id that never was. A new route is covered by being in the table; one whose kind of thing nobody makes here
//! fails the test that needs one.

use std::collections::BTreeMap;

use rat_things::engine::access::NewKey;
use rat_things::server::routes::{Coverage, ROUTES, Route, Verb};
use reqwest::{RequestBuilder, Response};
use serde_json::{Value, json};

use super::world::{Api, Events, message, read, session_of};

/// Names in paths for which nothing can be made: their lists are always empty.
const NOTHING_MAKES: &[&str] = &["subagent_id"];

/// What one owner has: an id for each name in a path, and for more that bodies and queries may name.
type Belongings = BTreeMap<String, String>;

/// Somebody with a key.
struct Owner<'a> {
    api: &'a Api,
    key: String,
}

impl Owner<'_> {
    fn ask(&self, verb: Verb, path: &str) -> RequestBuilder {
        self.api.with_key(&self.key, verb.name(), path)
    }

    async fn get(&self, path: &str) -> Value {
        let sent = self.ask(Verb::Get, path).send().await;
        read(sent.expect("answers")).await
    }

    /// Makes one of everything that can be made here, and finds its ids in the lists.
    async fn belongings(&self) -> Belongings {
        let mut has = Belongings::new();
        let make = "@exec mkdir -p outputs && echo mine > outputs/a\n@say done";
        let mut body = session_of("openai_hosted", make);
        body["stream"] = true.into();
        let created = self.ask(Verb::Post, "/agents/sessions").json(&body).send();
        let mut events = Events::from_response(created.await.expect("answers"));
        let first = events.next().await.expect("it is created");
        let name = |value: &Value| value.as_str().expect("an id").to_owned();
        has.insert("event_id".to_owned(), name(&first["event_id"]));
        let session = name(&first["session"]["id"]);
        while events.next().await.is_some() {}
        for (path, body) in [
            ("/agents", json!({"model": "demo"})),
            ("/vaults", json!({})),
            ("/agents/environments/templates", json!({})),
            ("/agents/environments", json!({"type": "openai_hosted"})),
        ] {
            let _ = self.ask(Verb::Post, path).json(&body).send().await;
        }
        let file = "--b\r\nContent-Disposition: form-data; name=\"purpose\"\r\n\r\nuser_data\r\n--b\r\n\
                    Content-Disposition: form-data; name=\"file\"; filename=\"mine\"\r\n\r\nmine\r\n--b--\r\n";
        let file = self.ask(Verb::Post, "/files").body(file);
        let file = file.header("content-type", "multipart/form-data; boundary=b");
        let _ = file.send().await;
        self.find(&mut has).await;
        if has.contains_key("vault_id") {
            let path = path_with("/v1/vaults/{vault_id}/credentials", &has);
            let auth = json!({"type": "static_bearer", "token": "t", "mcp_server_url": "https://mcp.example.org"});
            let body = json!({"name": "n", "auth": auth});
            let _ = self.ask(Verb::Post, &path).json(&body).send().await;
        }
        self.find(&mut has).await;
        assert_eq!(has["session_id"], session, "it is the only one");
        let shown = self.get(&format!("/agents/sessions/{session}")).await;
        has.insert(
            "environment_id".to_owned(),
            name(&shown["environment"]["id"]),
        );
        let items = self.get(&format!("/agents/sessions/{session}/items")).await;
        has.insert("item_id".to_owned(), name(&items["data"][0]["id"]));
        has
    }

    /// The first id of every list that leads to a route for one.
    async fn find(&self, has: &mut Belongings) {
        for route in served().filter(|route| route.verb == Verb::Get) {
            let Some((list, name)) = route.path.rsplit_once("/{") else {
                continue;
            };
            let name = name.trim_end_matches('}');
            let path = path_with(list, has);
            let is_served = served().any(|other| other.verb == Verb::Get && other.path == list);
            if !is_served || name.contains('/') || path.contains('{') || has.contains_key(name) {
                continue;
            }
            let page = self.get(&path).await;
            if let Some(id) = page["data"][0]["id"].as_str() {
                has.insert(name.to_owned(), id.to_owned());
            }
        }
    }
}

fn served() -> impl Iterator<Item = &'static Route> {
    let routes = ROUTES.iter().filter(|route| route.path.starts_with("/v1/"));
    routes.filter(|route| route.coverage != Coverage::Not)
}

/// A path below the base URL, with these ids in the places of their names.
fn path_with(path: &str, ids: &Belongings) -> String {
    let path = path.strip_prefix("/v1").expect("is below it").to_owned();
    let fill =
        |path: String, (name, id): (&String, &String)| path.replace(&format!("{{{name}}}"), id);
    ids.iter().fold(path, fill)
}

fn names_of(path: &str) -> Vec<&str> {
    let parts = path.split('/');
    let names = parts.filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
    names.collect()
}

/// Ids of the same form that never were.
fn invented(of: &Belongings) -> Belongings {
    let invent = |id: &String| {
        let (kind, rest) = id.rsplit_once('_').expect("an id");
        format!("{kind}_{}", "a".repeat(rest.len()))
    };
    of.iter()
        .map(|(name, id)| (name.clone(), invent(id)))
        .collect()
}

/// `mine` but for those names, which are `theirs`.
fn mixed(mine: &Belongings, theirs: &Belongings, names: &[&str]) -> Belongings {
    let mut mixed = mine.clone();
    for name in names {
        mixed.insert((*name).to_owned(), theirs[*name].clone());
    }
    mixed
}

/// Every choice of at least one of these.
fn choices<'a>(names: &[&'a str]) -> Vec<Vec<&'a str>> {
    let one = |bits: usize| {
        let chosen = names
            .iter()
            .enumerate()
            .filter(|(at, _)| bits >> at & 1 == 1);
        chosen.map(|(_, name)| *name).collect()
    };
    (1..1usize << names.len()).map(one).collect()
}

/// All of an answer that can be told apart, but for the request's own id and time; ids are replaced by their names.
async fn answer(request: RequestBuilder, ids: &Belongings) -> (u16, String) {
    let response: Response = request.send().await.expect("answers");
    let status = response.status().as_u16();
    let mut told: Vec<String> = response
        .headers()
        .iter()
        .filter(|(name, _)| *name != "x-request-id" && *name != "date")
        .map(|(name, value)| format!("{name}: {value:?}"))
        .collect();
    told.sort();
    let is_stream = told.iter().any(|line| line.contains("event-stream"));
    told.push(match is_stream {
        true => "<stream>".to_owned(),
        false => response.text().await.expect("a body"),
    });
    let named = |told: String, (name, id): (&String, &String)| {
        told.replace(id.as_str(), &format!("<{name}>"))
    };
    (status, ids.iter().fold(told.join("\n"), named))
}

fn body_of(route: &Route) -> Value {
    match route.path {
        "/v1/agents" => json!({"model": "demo"}),
        "/v1/agents/sessions" => session_of("none", "@say x"),
        path if path.ends_with("/events") => message("@say intruder"),
        path if path.ends_with("/credentials") => {
            let auth = json!({"type": "static_bearer", "token": "t", "mcp_server_url": "https://mcp.example.org"});
            json!({"name": "n", "auth": auth})
        }
        path if path.ends_with("}/files") => {
            json!({"type": "inline", "data": "", "path": "/workspace/intruder"})
        }
        _ => json!({}),
    }
}

fn request(owner: &Owner, route: &Route, path: &str) -> RequestBuilder {
    let request = owner.ask(route.verb, path);
    match route.verb {
        Verb::Post => request.json(&body_of(route)),
        Verb::Get | Verb::Delete => request,
    }
}

/// Everything that can be read of what somebody has.
async fn state(owner: &Owner<'_>, has: &Belongings) -> Vec<(String, (u16, String))> {
    let mut state = Vec::new();
    for route in served() {
        let path = path_with(route.path, has);
        let is_stream = route.path.ends_with("/events");
        if route.verb == Verb::Get && !is_stream && !path.contains('{') {
            let told = answer(owner.ask(Verb::Get, &path), &Belongings::new()).await;
            state.push((path, told));
        }
    }
    assert!(state.len() > 10, "only {}", state.len());
    state
}

#[tokio::test]
async fn another_owners_key_sees_and_changes_nothing() {
    let api = Api::new();
    let core = api.core();
    let mut other = NewKey::named("other");
    other.limits.requests_per_second = Some(1_000_000);
    let made = core.create_key("somebodyelse", other).await;
    let (_, other) = made.expect("makes a key");
    let owner = |key: &str| Owner {
        api: &api,
        key: key.to_owned(),
    };
    let (a, b) = (owner(&api.key), owner(&other));
    let (theirs, mine) = (a.belongings().await, b.belongings().await);
    for route in served() {
        for name in names_of(route.path) {
            assert!(
                theirs.contains_key(name) || NOTHING_MAKES.contains(&name),
                "{} is served, and there is no {name} to ask for: make one in `belongings`",
                route.path
            );
        }
    }
    let before = state(&a, &theirs).await;
    let never = invented(&theirs);
    let tried = paths(&b, &mine, &theirs, &never).await
        + queries(&b, &mine, &theirs, &never).await
        + bodies(&b, &mine, &theirs, &never).await;
    assert!(tried > 300, "only {tried}");
    for (path, (_, told)) in state(&b, &mine).await {
        for id in theirs.values() {
            assert!(!told.contains(id.as_str()), "{path} tells {id}");
        }
    }
    pretty_assertions::assert_eq!(state(&a, &theirs).await, before);
}

/// Their ids in every choice of places of every path.
async fn paths(b: &Owner<'_>, mine: &Belongings, theirs: &Belongings, never: &Belongings) -> usize {
    let mut tried = 0;
    for route in ROUTES.iter().filter(|route| route.path.starts_with("/v1/")) {
        let names = names_of(route.path);
        let known: Vec<&str> = names
            .into_iter()
            .filter(|name| theirs.contains_key(*name))
            .collect();
        for choice in choices(&known) {
            let asked = |ids: &Belongings| {
                // What nothing can be made of is a name that leads nowhere.
                let path =
                    path_with(route.path, &mixed(mine, ids, &choice)).replace(['{', '}'], "");
                request(b, route, &path)
            };
            let real = answer(asked(theirs), theirs).await;
            let unreal = answer(asked(never), never).await;
            let what = format!("{} {} with their {choice:?}", route.verb.name(), route.path);
            assert_eq!(real, unreal, "{what}");
            let refusal = match route.coverage {
                Coverage::Not => 501,
                Coverage::Served | Coverage::Partial(_) => 404,
            };
            assert_eq!(real.0, refusal, "{what}: {}", real.1);
            tried += 1;
        }
    }
    tried
}

/// Their ids in the query of everything that can be read: as a cursor whatever they name, and under their own name.
async fn queries(
    b: &Owner<'_>,
    mine: &Belongings,
    theirs: &Belongings,
    never: &Belongings,
) -> usize {
    let mut tried = 0;
    for route in served().filter(|route| route.verb == Verb::Get) {
        let path = path_with(route.path, mine);
        if path.contains('{') {
            continue;
        }
        for name in theirs.keys() {
            for parameter in ["after", name.as_str()] {
                let asked = |ids: &Belongings| {
                    let path = format!("{path}?{parameter}={}", ids[name]);
                    b.ask(Verb::Get, &path)
                };
                let real = answer(asked(theirs), theirs).await;
                let unreal = answer(asked(never), never).await;
                let what = format!("GET {}?{parameter}={{{name}}}", route.path);
                assert_eq!(real, unreal, "{what}");
                assert!(!real.1.contains("<stream>"), "{what}");
                tried += 1;
            }
        }
    }
    tried
}

/// Their ids in bodies, wherever one of that name could stand.
async fn bodies(
    b: &Owner<'_>,
    mine: &Belongings,
    theirs: &Belongings,
    never: &Belongings,
) -> usize {
    let mut tried = 0;
    for route in served().filter(|route| route.verb == Verb::Post) {
        let path = path_with(route.path, mine);
        if path.contains('{') {
            continue;
        }
        for name in theirs.keys() {
            let real_bodies = bodies_naming(route, name, &theirs[name]);
            let unreal_bodies = bodies_naming(route, name, &never[name]);
            for (real, unreal) in real_bodies.into_iter().zip(unreal_bodies) {
                let what = format!("POST {} {real}", route.path);
                let real = answer(b.ask(Verb::Post, &path).json(&real), theirs).await;
                let unreal = answer(b.ask(Verb::Post, &path).json(&unreal), never).await;
                assert_eq!(real.0, unreal.0, "{what}: {}", real.1);
                if real.0 < 300 {
                    // It made something of its own, with an id of its own.
                    assert!(!real.1.contains(&format!("<{name}>")), "{what}: {}", real.1);
                } else {
                    assert_eq!(real.1, unreal.1, "{what}");
                }
                tried += 1;
            }
        }
    }
    tried
}

fn bodies_naming(route: &Route, name: &str, id: &str) -> Vec<Value> {
    let mut bodies = Vec::new();
    let mut add = |key: String, value: Value| {
        let mut body = body_of(route);
        body[key] = value;
        bodies.push(body);
    };
    add(name.to_owned(), json!(id));
    add(format!("{name}s"), json!([id]));
    for inner in [name, &format!("environment_{name}")] {
        let environment = json!({"type": "openai_hosted", inner: id});
        add("environment".to_owned(), environment);
    }
    let file = json!({"type": "file_id", name: id, "path": "/workspace/x"});
    let hosted = json!({"type": "openai_hosted", "files": [file]});
    add("environment".to_owned(), hosted);
    let skill = json!({"type": "skill_reference", name: id});
    let hosted = json!({"type": "openai_hosted", "skills": [skill]});
    add("environment".to_owned(), hosted);
    if route.path.ends_with("/events") {
        let result = json!({"type": "agent.session.input.tool_result", "call_id": "call_x", "output": "x", name: id});
        add("events".to_owned(), json!([result]));
        let cancel = json!({"type": "agent.session.input.cancel", name: id});
        add("events".to_owned(), json!([cancel]));
    }
    bodies
}

#[tokio::test]
async fn whoever_has_no_good_key_gets_one_and_the_same_answer_over_every_route() {
    let api = Api::new();
    let expired = api.env.json("keys create --name short --expires 1ms");
    let revoked = api.env.json("keys create --name gone");
    let id = revoked["id"].as_str().expect("an id");
    api.env.ok(&format!("keys revoke {id} --yes"));
    let mut wrong = api.key.clone();
    let last = wrong.pop().expect("is not empty");
    wrong.push(if last == 'A' { 'B' } else { 'A' });
    let bearer = |key: &Value| format!("Bearer {}", key["key"].as_str().expect("a key"));
    let headers = [
        None,
        Some(format!("Bearer {wrong}")),
        Some("Bearer".to_owned()),
        Some(bearer(&expired)),
        Some(bearer(&revoked)),
        Some(format!("Bearer {id}")),
    ];
    let mut answers: BTreeMap<(u16, String), String> = BTreeMap::new();
    for route in ROUTES.iter().filter(|route| route.needs_key()) {
        let path = route.path.replace(['{', '}'], "");
        let origin = api.base.trim_end_matches("/v1");
        for header in &headers {
            let mut request = api.at(route.verb.name(), &format!("{origin}{path}"));
            if let Some(header) = header {
                request = request.header("authorization", header);
            }
            let what = format!("{} {path} with {header:?}", route.verb.name());
            answers
                .entry(answer(request, &Belongings::new()).await)
                .or_insert(what);
        }
    }
    assert_eq!(answers.len(), 1, "{answers:#?}");
    let (status, told) = answers.keys().next().expect("there is one");
    assert_eq!(*status, 401);
    assert!(told.contains("\"code\":\"unauthorized\""), "{told}");
}
