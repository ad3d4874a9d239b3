//! Subagents: whatever a harness says of them, each has a history of its own, what they do happens once, and none outlives its process.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use pretty_assertions::assert_eq;
use rat_things::api::{
    AgentContent, CallStatus, Event, Item, SessionStatus, SubagentStatus, TurnStatus,
};
use rat_things::engine::core::Settings;
use rat_things::engine::error::EngineError;
use rat_things::engine::ids::SessionId;
use rat_things::engine::keys;
use rat_things::engine::ports::{
    Claim, ClaimAs, Delegates, Fenced, Harness, ModelUsage, Observation, Past, Record, SubagentEnd,
    SubagentNews, ToolEnd, TurnEnd, TurnLink, TurnTask,
};
use rat_things::engine::read::ListQuery;
use rat_things::engine::subagent::{MAX_OPEN_SUBAGENTS, within};
use serde_json::json;

use super::archives::{IMPORTER, Target};
use super::entries::Written;
use super::records::violations;
use super::world::{OWNER, Setup, World, answer_to, managed};

type Act =
    dyn Fn(usize, TurnTask, TurnLink) -> BoxFuture<'static, Result<TurnEnd, Fenced>> + Send + Sync;

/// A harness that does what a test says; it is told how often it was started before.
struct Acts {
    act: Box<Act>,
    starts: AtomicUsize,
}

#[async_trait]
impl Harness for Acts {
    async fn run(&self, task: TurnTask, link: TurnLink) -> TurnEnd {
        let started = self.starts.fetch_add(1, Ordering::SeqCst);
        let end = (self.act)(started, task, link).await;
        end.unwrap_or(TurnEnd::Left)
    }

    fn name(&self) -> &'static str {
        "test"
    }
}

fn world_of<F>(act: impl Fn(usize, TurnTask, Arc<TurnLink>) -> F + Send + Sync + 'static) -> World
where
    F: Future<Output = Result<TurnEnd, Fenced>> + Send + 'static,
{
    let act: Box<Act> =
        Box::new(move |started, task, link| Box::pin(act(started, task, Arc::new(link))));
    let harness = Acts {
        act,
        starts: AtomicUsize::new(0),
    };
    Setup {
        harness: Some(Arc::new(harness)),
        settings: Settings {
            subagents: true,
            // Long texts become blobs.
            inline_bytes: 32,
            ..Settings::default()
        },
        ..Setup::default()
    }
    .build()
}

/// A Session that such a harness works for, once it owes nothing or asks its client.
async fn played<F>(
    act: impl Fn(usize, TurnTask, Arc<TurnLink>) -> F + Send + Sync + 'static,
) -> (World, SessionId)
where
    F: Future<Output = Result<TurnEnd, Fenced>> + Send + 'static,
{
    let world = world_of(act);
    let session = world.create(delegating()).await;
    world.settled(&session).await;
    world.sound();
    (world, session)
}

fn delegating() -> serde_json::Value {
    let mut request = managed("go");
    request["agent"]["multi_agent"] = json!({"enabled": true, "max_concurrent_subagents": 8});
    request
}

async fn takes(task: &TurnTask, link: &TurnLink) -> Result<(), Fenced> {
    let inputs = task.feed.iter().map(|feed| feed.input).collect();
    link.saw(Observation::Took(inputs)).await
}

fn says(text: &str) -> Observation {
    Observation::Message {
        text: text.into(),
        phase: None,
        incomplete: false,
    }
}

fn claim(call_id: &str) -> Claim {
    Claim {
        call_id: call_id.into(),
        name: "shell".into(),
        arguments: "{}".into(),
        command: call_id.into(),
        cwd: None,
        server_label: None,
    }
}

fn ended(call_id: &str) -> Observation {
    let output = format!("what came of {call_id}, in so many words that they are not in its row");
    Observation::ToolEnded {
        call_id: call_id.into(),
        end: ToolEnd {
            status: CallStatus::Completed,
            exit_code: Some(0),
            output: output.clone(),
            duration_ms: 1,
        },
        output,
    }
}

async fn of(link: &TurnLink, key: &str, news: SubagentNews) -> Result<(), Fenced> {
    let key = key.to_owned();
    link.saw(Observation::Subagent { key, news }).await
}

async fn opens(link: &TurnLink, key: &str, parent: Option<&str>) -> Result<(), Fenced> {
    let opened = SubagentNews::Opened {
        parent: parent.map(str::to_owned),
        name: Some(format!("name of {key}")),
        instructions: Some(format!(
            "work on {key}, and do so as well as it can be done"
        )),
    };
    of(link, key, opened).await
}

async fn did(link: &TurnLink, key: &str, what: Observation) -> Result<(), Fenced> {
    of(link, key, SubagentNews::Did(Box::new(what))).await
}

/// A call of the root agent that is about others.
async fn delegates(link: &TurnLink, call_id: &str, what: Delegates) -> Result<(), Fenced> {
    link.claim_as(ClaimAs {
        by: None,
        delegates: Some(what),
        claim: claim(call_id),
    })
    .await
}

/// A command of a subagent.
async fn claims(link: &TurnLink, key: &str, call_id: &str) -> Result<(), Fenced> {
    link.claim_as(ClaimAs {
        by: Some(key.to_owned()),
        delegates: None,
        claim: claim(call_id),
    })
    .await
}

fn everything() -> ListQuery {
    ListQuery {
        limit: 100,
        ascending: true,
        after: None,
    }
}

/// Items in a few words; agents by their names in `who`.
fn lines(items: &[Item], who: &[(String, &str)]) -> Vec<String> {
    let name = |id: &String| {
        let known = who.iter().find(|(known, _)| known == id);
        known.map_or("root".to_owned(), |(_, name)| (*name).to_owned())
    };
    let text = |parts: &[AgentContent]| {
        let texts = parts.iter().map(|part| match part {
            AgentContent::OutputText { text } => text.clone(),
            AgentContent::EncryptedContent { .. } => "sealed".to_owned(),
        });
        texts.collect::<String>()
    };
    let line = |item: &Item| match item {
        Item::Message(message) => format!("{} {}", message.role, message.status),
        Item::CommandExecution(command) => format!("{} {}", command.command, command.status),
        Item::AgentMessage(m) => format!(
            "{} to {}: {}",
            name(&m.sender_agent_id),
            name(&m.recipient_agent_id),
            text(&m.content)
        ),
        Item::CreateSubagentCall(call) => format!(
            "{} creates: {} [{}]",
            name(&call.agent_id),
            text(&call.content),
            call.status
        ),
        Item::WaitForSubagentsCall(call) => {
            let whom: Vec<String> = call.recipient_agent_ids.iter().map(name).collect();
            format!(
                "{} waits for {whom:?} [{}]",
                name(&call.sender_agent_id),
                call.status
            )
        }
        Item::CloseSubagentCall(call) => format!(
            "{} closes {} [{}]",
            name(&call.sender_agent_id),
            name(&call.recipient_agent_id),
            call.status
        ),
        other => other.kind().to_owned(),
    };
    items.iter().map(line).collect()
}

/// Each subagent: its number, its state and its Items.
async fn subagents(world: &World, session: &SessionId) -> Vec<(SubagentStatus, Vec<String>)> {
    let read = world.read(session).await;
    let page = world.core.list_subagents(&read, &everything()).await;
    let page = page.expect("listed").data;
    let who: Vec<(String, &str)> = page.iter().map(|one| (one.id.clone(), "sub")).collect();
    let mut all = Vec::new();
    for one in &page {
        let number = world.core.subagent_number(&read, &one.id).expect("its own");
        let query = everything();
        let items = world.core.list_subagent_items(&read, number, None, &query);
        all.push((one.status, lines(&items.await.expect("listed").data, &who)));
    }
    all
}

async fn events(world: &World, session: &SessionId) -> Vec<Event> {
    let read = world.read(session).await;
    let listed = world.core.list_events(&read, None, 1_000).await;
    listed.expect("listed").0
}

/// One child that runs a command, and is waited for and closed.
async fn one_child(task: TurnTask, link: Arc<TurnLink>) -> Result<TurnEnd, Fenced> {
    takes(&task, &link).await?;
    let text = "work on a, and do so as well as it can be done".to_owned();
    let create = Delegates::Create {
        text: text.clone(),
        model: None,
        effort: None,
    };
    delegates(&link, "spawn", create).await?;
    opens(&link, "a", None).await?;
    link.saw(ended("spawn")).await?;
    let wait = Delegates::Wait {
        to: vec!["a".into(), "nobody".into()],
    };
    delegates(&link, "wait", wait).await?;
    of(&link, "a", SubagentNews::Began).await?;
    of(&link, "a", SubagentNews::Told { from: None, text }).await?;
    did(
        &link,
        "a",
        Observation::ModelCall(ModelUsage {
            input: 7,
            ..ModelUsage::default()
        }),
    )
    .await?;
    claims(&link, "a", "one").await?;
    did(&link, "a", ended("one")).await?;
    did(&link, "a", says("it is done")).await?;
    of(&link, "a", SubagentNews::Ended(SubagentEnd::Completed)).await?;
    link.saw(ended("wait")).await?;
    link.saw(Observation::Heard {
        from: "a".into(),
        text: "I am done".into(),
    })
    .await?;
    delegates(&link, "close", Delegates::Close { to: "a".into() }).await?;
    of(&link, "a", SubagentNews::Closed).await?;
    link.saw(ended("close")).await?;
    link.saw(Observation::ModelCall(ModelUsage {
        input: 5,
        ..ModelUsage::default()
    }))
    .await?;
    link.saw(says("all is done")).await?;
    Ok(TurnEnd::Completed)
}

#[tokio::test(start_paused = true)]
pub async fn a_subagent_has_its_own_history_and_the_root_agent_has_what_it_did_to_it() {
    let (world, session) = played(|_, task, link| one_child(task, link)).await;
    let read = world.read(&session).await;
    let page = world.core.list_subagents(&read, &everything()).await;
    let [one] = &page.expect("listed").data[..] else {
        panic!("there is one");
    };
    let root = read.config.agent.id.clone();
    assert_eq!(
        (&*one.parent_agent_id, one.name.as_deref(), one.status),
        (&*root, Some("name of a"), SubagentStatus::Closed)
    );
    assert!(one.closed_at.is_some() && one.instructions.is_some());
    let who = [(one.id.clone(), "a")];
    let told = "work on a, and do so as well as it can be done";
    assert_eq!(
        lines(&world.items(&session).await, &who),
        [
            "user completed".to_owned(),
            format!("root creates: {told} [completed]"),
            r#"root waits for ["a", "root"] [completed]"#.to_owned(),
            "a to root: I am done".to_owned(),
            "root closes a [completed]".to_owned(),
            "assistant completed".to_owned(),
        ]
    );
    assert_eq!(
        subagents(&world, &session).await,
        [(
            SubagentStatus::Closed,
            vec![
                format!("root to sub: {told}"),
                "one completed".to_owned(),
                "assistant completed".to_owned(),
            ]
        )]
    );
    // Everything that was spent is the Turn's; what the subagent spent is its own Turn's, too.
    let (turn, _) = world.core.get_turn(&read, 1).await.expect("readable");
    assert_eq!(turn.usage.map(|usage| usage.input_tokens), Some(12));
    assert_eq!(turn.subagent_id, None);
    let turns = world
        .core
        .list_subagent_turns(&read, 1, &everything())
        .await;
    let [turn] = &turns.expect("listed").data[..] else {
        panic!("it had one turn");
    };
    assert_eq!(turn.usage.as_ref().map(|usage| usage.input_tokens), Some(7));
    assert_eq!(turn.subagent_id.as_deref(), Some(&*one.id));
    assert_eq!(turn.status, TurnStatus::Completed);
    // Its Turn and its Items are not the root agent's.
    let all = everything();
    let items = world.core.list_subagent_items(&read, 1, None, &all);
    let item = items.await.expect("listed").data[0].clone();
    assert_eq!(item.turn_id(), turn.id);
    assert!(world.core.turn_number(&read, &turn.id).is_err());
    let mut behind = everything();
    behind.after = rat_things::api::HasId::id(&item).map(str::to_owned);
    let foreign = world.core.list_items(&read, None, &behind).await;
    assert!(matches!(foreign, Err(EngineError::NotFound { .. })));
    let page = world.core.list_subagent_items(&read, 1, None, &behind);
    assert_eq!(page.await.expect("listed").data.len(), 2);
    let told: Vec<String> = events(&world, &session)
        .await
        .iter()
        .map(|event| event.kind().to_owned())
        .filter(|kind| kind.contains("subagent"))
        .collect();
    assert_eq!(
        told,
        ["created", "active", "closed"].map(|what| format!("agent.session.subagent.{what}"))
    );
}

#[tokio::test(start_paused = true)]
pub async fn subagents_that_are_open_when_the_turn_ends_are_closed_with_it_however_many() {
    let (world, session) = played(async |_, task: TurnTask, link: Arc<TurnLink>| {
        takes(&task, &link).await?;
        for n in 0..=MAX_OPEN_SUBAGENTS {
            // The last one is one too many, and leaves no trace.
            opens(&link, &n.to_string(), (n == 1).then_some("0")).await?;
            of(&link, &n.to_string(), SubagentNews::Began).await?;
            did(&link, &n.to_string(), says("I am at it")).await?;
        }
        claims(&link, "2", "slow").await?;
        Ok(TurnEnd::Completed)
    })
    .await;
    let all = subagents(&world, &session).await;
    assert_eq!(all.len(), MAX_OPEN_SUBAGENTS);
    assert!(
        all.iter()
            .all(|(status, _)| *status == SubagentStatus::Closed)
    );
    assert_eq!(all[2].1, ["assistant completed", "slow incomplete"]);
    let read = world.read(&session).await;
    let turns = world
        .core
        .list_subagent_turns(&read, 3, &everything())
        .await;
    assert_eq!(turns.expect("listed").data[0].status, TurnStatus::Cancelled);
    let page = world.core.list_subagents(&read, &everything()).await;
    let page = page.expect("listed").data;
    assert_eq!(page[1].parent_agent_id, page[0].id, "it is nested");
    assert_eq!(world.turns(&session).await, [TurnStatus::Completed]);
    // Page by page, from the end.
    let mut seen = Vec::new();
    let mut query = ListQuery {
        limit: 3,
        ..ListQuery::default()
    };
    loop {
        let page = world.core.list_subagents(&read, &query).await;
        let page = page.expect("listed");
        seen.extend(page.data.iter().map(|one| one.id.clone()));
        query.after = page.last_id.clone();
        if !page.has_more {
            break;
        }
    }
    seen.reverse();
    assert_eq!(
        seen,
        page.iter().map(|one| one.id.clone()).collect::<Vec<_>>()
    );
}

#[tokio::test(start_paused = true)]
pub async fn a_lost_worker_leaves_no_open_subagent_and_no_call_that_is_run_again() {
    let (world, session) = played(async |started, task: TurnTask, link: Arc<TurnLink>| {
        takes(&task, &link).await?;
        if started == 0 {
            delegates(
                &link,
                "wait",
                Delegates::Wait {
                    to: vec!["a".into()],
                },
            )
            .await?;
            opens(&link, "a", None).await?;
            claims(&link, "a", "one").await?;
            return Ok(TurnEnd::Left);
        }
        let unknown = task.history.iter().any(|past| {
            matches!(past, Past::Tool { call_id, outcome, .. }
                if call_id == "wait" && *outcome == rat_things::engine::ports::ToolOutcome::Unknown)
        });
        assert!(unknown, "{:?}", task.history);
        link.saw(says("gone on")).await?;
        Ok(TurnEnd::Completed)
    })
    .await;
    assert_eq!(
        subagents(&world, &session).await,
        [(SubagentStatus::Closed, vec!["one incomplete".to_owned()])]
    );
    let read = world.read(&session).await;
    let turns = world
        .core
        .list_subagent_turns(&read, 1, &everything())
        .await;
    let turn = &turns.expect("listed").data[0];
    assert_eq!(turn.status, TurnStatus::Failed);
    let why = turn.error.as_ref().map(|error| error.message.clone());
    assert!(why.is_some_and(|why| why.contains("lost")));
    let (turn, row) = world.core.get_turn(&read, 1).await.expect("readable");
    assert_eq!((turn.status, row.unknown_calls), (TurnStatus::Completed, 1));
}

#[tokio::test(start_paused = true)]
pub async fn a_turn_that_waits_for_its_client_has_no_open_subagent() {
    let (world, session) = played(async |started, task: TurnTask, link: Arc<TurnLink>| {
        takes(&task, &link).await?;
        if started > 0 {
            return Ok(TurnEnd::Completed);
        }
        opens(&link, "a", None).await?;
        did(&link, "a", says("I am at it")).await?;
        link.saw(Observation::FunctionCall {
            call_id: "c".into(),
            name: "ask".into(),
            arguments: "{}".into(),
            background: false,
        })
        .await?;
        Ok(TurnEnd::Waiting)
    })
    .await;
    let now = world.core.get_session(OWNER, &session).await;
    assert_eq!(now.expect("readable").status, SessionStatus::RequiresAction);
    assert_eq!(
        subagents(&world, &session).await[0].0,
        SubagentStatus::Closed
    );
    let answer = answer_to(&world, &session, "42").await;
    world.send_surely(&session, "answer", answer).await;
    world.settled(&session).await;
    world.sound();
    assert_eq!(world.turns(&session).await, [TurnStatus::Completed]);
}

#[tokio::test(start_paused = true)]
pub async fn an_archive_carries_subagents_with_all_that_they_did() {
    let (world, session) = played(|_, task, link| one_child(task, link)).await;
    let before = subagents(&world, &session).await;
    let mut written = Written::default();
    let exported = world
        .core
        .export_session(OWNER, &session, "test", &mut written, &|_, _| {})
        .await
        .expect("exports");
    assert_eq!(exported.unsound, []);
    let target = Target::new();
    target.import(&written.entries).await.expect("imports");
    target.assert_sound();
    let read = target.core.read_session(IMPORTER, &session).await;
    let read = read.expect("readable");
    let items = target
        .core
        .list_subagent_items(&read, 1, None, &everything())
        .await;
    assert_eq!(items.expect("listed").data.len(), before[0].1.len());
}

#[tokio::test(start_paused = true)]
pub async fn what_the_harness_cannot_do_is_refused_by_name() {
    let world = World::new();
    let refused = world.try_create(delegating()).await;
    let Err(EngineError::Invalid { param, .. }) = refused else {
        panic!("{refused:?}");
    };
    assert_eq!(param.as_deref(), Some("agent.multi_agent.enabled"));
    let world = world_of(async |_, _, _| Ok(TurnEnd::Completed));
    let mut request = delegating();
    request["agent"]["multi_agent"]["max_concurrent_subagents"] = 9.into();
    let refused = world.try_create(request).await;
    let Err(EngineError::Invalid { param, .. }) = refused else {
        panic!("{refused:?}");
    };
    let field = "agent.multi_agent.max_concurrent_subagents";
    assert_eq!(param.as_deref(), Some(field));
}

#[tokio::test(start_paused = true)]
pub async fn one_that_was_closed_can_be_opened_again_and_goes_on_in_its_history() {
    let (world, session) = played(async |_, task: TurnTask, link: Arc<TurnLink>| {
        takes(&task, &link).await?;
        opens(&link, "a", None).await?;
        for text in ["first", "second"] {
            of(&link, "a", SubagentNews::Began).await?;
            did(&link, "a", says(text)).await?;
            let failed = SubagentEnd::Failed {
                code: "server_error".into(),
                message: "down".into(),
            };
            of(&link, "a", SubagentNews::Ended(failed)).await?;
            of(&link, "a", SubagentNews::Closed).await?;
            // Said twice, it is done once.
            of(&link, "a", SubagentNews::Closed).await?;
            of(&link, "a", SubagentNews::Reopened).await?;
            of(&link, "a", SubagentNews::Reopened).await?;
        }
        Ok(TurnEnd::Completed)
    })
    .await;
    assert_eq!(
        subagents(&world, &session).await,
        [(
            SubagentStatus::Closed,
            vec!["assistant completed".to_owned(); 2]
        )]
    );
    let read = world.read(&session).await;
    let turns = world
        .core
        .list_subagent_turns(&read, 1, &everything())
        .await;
    let turns = turns.expect("listed").data;
    let ends: Vec<TurnStatus> = turns.iter().map(|turn| turn.status).collect();
    assert_eq!(ends, [TurnStatus::Failed; 2]);
    // Each Turn has its own Item, and no other.
    for turn in &turns {
        let number = world.core.subagent_turn_number(&read, 1, &turn.id);
        let query = everything();
        let items =
            world
                .core
                .list_subagent_items(&read, 1, Some(number.expect("its own")), &query);
        let items = items.await.expect("listed").data;
        assert_eq!((items.len(), items[0].turn_id()), (1, &*turn.id));
        assert!(world.core.subagent_turn_number(&read, 2, &turn.id).is_err());
    }
    let told: Vec<Event> = events(&world, &session).await;
    let told = told.iter().filter_map(|event| match event {
        Event::SubagentCreated(event) => Some(("created", event.subagent.status)),
        Event::SubagentActive(event) => Some(("active", event.subagent.status)),
        Event::SubagentClosed(event) => Some(("closed", event.subagent.status)),
        _ => None,
    });
    let (open, closed) = (SubagentStatus::Active, SubagentStatus::Closed);
    let (active, over) = (("active", open), ("closed", closed));
    assert_eq!(
        told.collect::<Vec<_>>(),
        [
            ("created", open),
            active,
            over,
            active,
            active,
            over,
            active,
            over
        ]
    );
}

#[tokio::test(start_paused = true)]
pub async fn damage_to_the_records_of_a_subagent_is_found() {
    let (world, session) = played(|_, task, link| one_child(task, link)).await;
    let sound = world.store.records();
    let now_ms = world.core.clock.now_ms();
    assert_eq!(violations(&sound, now_ms), Vec::<String>::new());
    let partition = keys::session_partition(&session);
    let (turn, item) = (keys::turn(within(1, 1)), keys::item(within(1, 2)));
    let subagent = keys::subagent(1);
    // What is done to a field of a row; nothing: the row is lost.
    let cases = [
        ("I16", &subagent, None),
        ("I16", &turn, None),
        ("I16", &item, None),
        ("form", &subagent, Some(("k", json!(null)))),
        ("form", &item, Some(("kind", json!("other")))),
        ("I8", &subagent, Some(("end", json!(null)))),
        ("I16", &subagent, Some(("o", json!(7)))),
        ("I16", &subagent, Some(("m", json!(9)))),
        ("I8", &subagent, Some(("p", json!(1)))),
        ("I8", &turn, Some(("s", json!("in_progress")))),
        ("I8", &turn, Some(("z", json!(within(1, 2))))),
        ("I6", &item, Some(("state", json!("running")))),
        ("I6", &item, Some(("state", json!("unknown")))),
        ("I16", &item, Some(("o", json!(5)))),
    ];
    for (at, (code, sort, field)) in cases.into_iter().enumerate() {
        let mut records = sound.clone();
        let is_it = |record: &Record| record.key.partition == partition && record.key.sort == *sort;
        let place = records.iter().position(is_it).expect("it is stored");
        match field {
            None => drop(records.remove(place)),
            Some((name, to)) => {
                let value = &mut records[place].value;
                let mut row: serde_json::Value = serde_json::from_slice(value).expect("JSON");
                row[name] = to;
                *value = row.to_string().into_bytes();
            }
        }
        let found = violations(&records, now_ms);
        let named = found
            .iter()
            .any(|line| line.starts_with(&format!("{code} ")));
        assert!(named, "case {at} should break {code}; found: {found:#?}");
    }
}
