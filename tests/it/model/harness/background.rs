//! Functions that the agent does not wait for.

use pretty_assertions::assert_eq;
use rat_things::backend::harness::responses::LATE_RESULT;

use super::*;

fn found() -> FunctionAnswer {
    FunctionAnswer {
        success: true,
        output: json!("found"),
        error: None,
    }
}

fn lookup() -> Reply {
    scripted::items([scripted::call("f1", "lookup", "{}")])
}

fn told_late(input: &[Value]) -> Vec<&str> {
    let texts = input
        .iter()
        .filter_map(|item| item["content"][0]["text"].as_str());
    texts.filter(|text| text.starts_with(LATE_RESULT)).collect()
}

#[tokio::test]
async fn work_goes_on_behind_the_call_and_rests_until_it_is_answered() {
    let model = model([lookup(), scripted::says("meanwhile")]);
    let (end, seen) = Setup::new(model.clone())
        .with_background("lookup")
        .told("hi")
        .run()
        .await;
    assert_eq!(end, TurnEnd::Waiting);
    let input = &model.inputs()[1];
    let told = input.last().expect("it has items")["output"].as_str();
    assert!(
        told.is_some_and(|told| told.starts_with("called: ")),
        "{told:?}"
    );

    // Before the answer is there, a worker has nothing to do.
    let mut past = history(&[message(1, "hi")], &seen);
    let early = super::model([]);
    let setup = Setup::new(early).with_background("lookup");
    assert_eq!(
        setup.after(past.clone()).run().await,
        (TurnEnd::Waiting, vec![])
    );

    past.push(Past::Answered {
        call_id: "f1".into(),
        name: "lookup".into(),
        answer: found(),
    });
    let later = super::model([scripted::says("done")]);
    let (end, _) = Setup::new(later.clone())
        .with_background("lookup")
        .after(past)
        .run()
        .await;
    assert_eq!(end, TurnEnd::Completed);
    let input = &later.inputs()[0];
    assert_eq!(
        told_late(input),
        [format!("{LATE_RESULT}f1 (lookup):\nfound")]
    );
}

#[tokio::test]
async fn an_answer_that_comes_meanwhile_reaches_the_next_model_call() {
    let told = Arc::new(Notify::new());
    let model = model([
        lookup(),
        Reply::Stream(vec![
            Play::Event(ModelEvent::TextDelta("mean".into())),
            Play::Until(told.clone()),
            Play::Event(ModelEvent::Item(scripted::message("meanwhile"))),
            Play::Event(scripted::done()),
        ]),
        scripted::says("done"),
    ]);
    let mut running = Setup::new(model.clone())
        .with_background("lookup")
        .told("hi")
        .start();
    running.until_text().await;
    let answer = Steer::Answer {
        call_id: "f1".into(),
        name: "lookup".into(),
        answer: found(),
    };
    running.steer.send(answer).await.expect("it runs");
    told.notify_one();
    let (end, _) = running.end().await;
    assert_eq!(end, TurnEnd::Completed);
    let inputs = model.inputs();
    assert_eq!(told_late(&inputs[1]), Vec::<&str>::new());
    assert_eq!(told_late(&inputs[2]).len(), 1);
}

#[tokio::test]
async fn a_call_that_is_waited_for_beside_one_that_is_not_ends_the_work() {
    let mut agent =
        serde_json::to_value(super::super::world::agent(&["ask", "lookup"])).expect("an Agent");
    agent["tools"][1]["async"] = true.into();
    for calls in [["lookup", "ask"], ["ask", "lookup"]] {
        let reply = scripted::items(
            calls
                .iter()
                .map(|name| scripted::call(name, name, "{}"))
                .collect::<Vec<_>>(),
        );
        let mut setup = Setup::new(model([reply])).told("hi");
        setup.agent = serde_json::from_value(agent.clone()).expect("an Agent");
        let (end, seen) = setup.run().await;
        assert_eq!(end, TurnEnd::Waiting);
        let waited: Vec<bool> = seen
            .iter()
            .filter_map(|seen| match seen {
                Seen::Saw(Observation::FunctionCall { background, .. }) => Some(!background),
                _ => None,
            })
            .collect();
        assert_eq!(waited, calls.map(|name| name == "ask"));
    }
}
