//! A Turn that goes on where another worker was lost.

use pretty_assertions::assert_eq;

use super::*;

#[tokio::test]
async fn p32_a_turn_that_is_resumed_is_told_what_became_of_each_call() {
    let model = model([scripted::says("done")]);
    let environment = ok_environment();
    let tool = |call_id: &str, outcome| Past::Tool {
        call_id: call_id.into(),
        name: "shell".into(),
        arguments: "{\"command\":\"x\"}".into(),
        outcome,
    };
    let done = ToolOutcome::Done {
        output: "exit code 0".into(),
    };
    let (end, seen) = Setup::new(model.clone())
        .after(vec![
            past_user("hi"),
            tool("c1", done),
            tool("c2", ToolOutcome::Unknown),
        ])
        .within(environment.clone())
        .run()
        .await;
    assert_eq!(end, TurnEnd::Completed);
    assert_eq!(facts(&seen), [said("done", "final_answer")]);
    assert_eq!(environment.commands(), [""; 0]);
    let input = &model.inputs()[0];
    assert_eq!(
        kinds(input),
        [
            "message",
            "function_call",
            "function_call_output",
            "function_call",
            "function_call_output"
        ]
    );
    assert_eq!(input[2]["output"], "exit code 0");
    assert_eq!(input[4]["output"], OUTCOME_UNKNOWN);
}

#[tokio::test]
async fn a_turn_that_was_answered_before_its_worker_was_lost_is_over() {
    let answered = |phase: &str| {
        vec![
            past_user("hi"),
            Past::Assistant {
                text: "x".into(),
                phase: Some(phase.into()),
            },
        ]
    };
    let over = model([]);
    let (end, seen) = Setup::new(over.clone())
        .after(answered("final_answer"))
        .run()
        .await;
    assert_eq!((end, seen), (TurnEnd::Completed, vec![]));

    let going_on = model([scripted::says("done")]);
    let (end, _) = Setup::new(going_on.clone())
        .after(answered("commentary"))
        .run()
        .await;
    assert_eq!(end, TurnEnd::Completed);
    assert_eq!(going_on.requests().len(), 1);

    let next_turn = model([scripted::says("done")]);
    let setup = Setup::new(next_turn.clone()).after(answered("final_answer"));
    let (_, seen) = setup.told("more").run().await;
    assert_eq!(facts(&seen), [took(&[1]), said("done", "final_answer")]);
}
