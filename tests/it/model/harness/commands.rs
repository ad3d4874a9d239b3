//! Tool calls: how they are read, run and told.

use pretty_assertions::assert_eq;

use super::*;

#[tokio::test]
async fn calls_that_can_not_be_run_are_recorded_as_failed_and_run_nothing() {
    let environment = ok_environment();
    let reply = scripted::items([
        scripted::call("c1", "shell", "{\"command\":"),
        scripted::call("c2", "shell", "{}"),
        scripted::call("c3", "browse", "{}"),
        scripted::call("c4", "apply_patch", "{\"input\":\"hello\"}"),
    ]);
    let (end, seen) = Setup::new(model([reply, scripted::says("done")]))
        .told("hi")
        .within(environment.clone())
        .run()
        .await;
    assert_eq!(end, TurnEnd::Completed);
    assert_eq!(environment.commands(), [""; 0]);
    let outputs = tool_outputs(&seen);
    for (output, word) in outputs.iter().zip([
        "arguments of shell can't be read",
        "missing field `command`",
        "no tool named `browse`",
        "`*** Begin Patch` was expected",
    ]) {
        assert!(
            output.starts_with("failed: ") && output.contains(word),
            "{output}"
        );
    }
    let failed = seen.iter().filter(|seen| {
        matches!(seen, Seen::Saw(Observation::ToolEnded { end, .. }) if end.status == CallStatus::Failed)
    });
    assert_eq!((outputs.len(), failed.count()), (4, 4));
    assert_eq!(
        seen.iter()
            .filter(|seen| matches!(seen, Seen::Claimed(_)))
            .count(),
        4
    );
}

#[tokio::test]
async fn without_an_environment_there_are_no_commands() {
    let model = model([scripted::items([shell("c1", "ls")]), scripted::says("done")]);
    let (end, seen) = Setup::new(model.clone()).told("hi").run().await;
    assert_eq!(end, TurnEnd::Completed);
    assert!(model.requests()[0].tools.is_empty());
    assert_eq!(
        tool_outputs(&seen),
        ["failed: there is no tool named `shell` here. Nothing was run."]
    );
}

#[tokio::test]
async fn commands_and_patches_reach_the_environment_as_they_were_written() {
    let patch = "*** Begin Patch\n*** Add File: a\n+x\n*** End Patch\n";
    let reply = scripted::items([
        scripted::call(
            "c1",
            "shell",
            "{\"command\":\"ls\",\"workdir\":\"src\",\"timeout_ms\":5}",
        ),
        scripted::call("c2", "apply_patch", &json!({"input": patch}).to_string()),
    ]);
    let environment = ok_environment();
    let (_, seen) = Setup::new(model([reply, scripted::says("done")]))
        .told("hi")
        .within(environment.clone())
        .run()
        .await;
    {
        let ran = environment
            .ran
            .lock()
            .expect("no test panics while it holds this");
        assert_eq!(ran[0].program, Program::Shell("ls".into()));
        assert_eq!(
            (ran[0].cwd.as_str(), ran[0].timeout_ms),
            ("/workspace/src", 5)
        );
        assert_eq!(ran[1].program, Program::ApplyPatch);
        assert_eq!(ran[1].stdin, patch);
        assert_eq!(ran[1].output_limit_bytes, 64 << 10);
    }
    let shown: Vec<&str> = seen
        .iter()
        .filter_map(|seen| match seen {
            Seen::Claimed(claim) => Some(claim.command.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(shown, ["ls", "apply_patch A a"]);
}

#[tokio::test]
async fn how_a_command_ended_is_told_to_the_model_and_in_its_item() {
    let lost = EnvironmentError::Lost("it was killed".into());
    for (act, status, code, words) in [
        (
            Act::Exit(3, "no\n"),
            CallStatus::Failed,
            Some(3),
            "exit code 3 after 7 ms\nno\n",
        ),
        (
            Act::End(ExecHow::Signalled(9)),
            CallStatus::Failed,
            None,
            "ended by signal 9 after 7 ms",
        ),
        (
            Act::End(ExecHow::TimedOut),
            CallStatus::Incomplete,
            None,
            "timed out: it and all it started were ended after 120000 ms",
        ),
        (
            Act::End(ExecHow::NotStarted("no such directory".into())),
            CallStatus::Failed,
            None,
            "not started: no such directory",
        ),
        (
            Act::Error(lost),
            CallStatus::Incomplete,
            None,
            "outcome unknown: the worker was lost",
        ),
        (
            Act::Error(EnvironmentError::Failed("no space".into())),
            CallStatus::Failed,
            None,
            "failed: the environment failed: no space. Nothing was run.",
        ),
    ] {
        let act = Mutex::new(Some(act));
        let environment = FakeEnvironment::new(move |_| {
            let act = act
                .lock()
                .expect("no test panics while it holds this")
                .take();
            act.unwrap_or(Act::Exit(0, ""))
        });
        let replies = [scripted::items([shell("c1", "a")]), scripted::says("done")];
        let (end, seen) = Setup::new(model(replies))
            .told("hi")
            .within(environment)
            .run()
            .await;
        assert_eq!(end, TurnEnd::Completed, "{words}");
        let found = seen.iter().find_map(|seen| match seen {
            Seen::Saw(Observation::ToolEnded { end, output, .. }) => {
                Some((end.clone(), output.clone()))
            }
            _ => None,
        });
        let (end, output) = found.expect("the call ended");
        assert_eq!((end.status, end.exit_code), (status, code), "{words}");
        assert!(output.starts_with(words), "{output}\nis not\n{words}");
    }
}

#[tokio::test]
async fn call_ids_that_a_provider_repeats_or_omits_are_made_unique() {
    let past = Past::Tool {
        call_id: "call_0".into(),
        name: "shell".into(),
        arguments: "{}".into(),
        outcome: ToolOutcome::Unknown,
    };
    let long = "x".repeat(65);
    let reply = scripted::items([
        shell("call_0", "a"),
        shell("", "b"),
        shell("call_1", "c"),
        shell("call_1", "d"),
        shell(&long, "e"),
    ]);
    let (_, seen) = Setup::new(model([reply, scripted::says("done")]))
        .after(vec![past_user("hi"), past])
        .told("go on")
        .within(ok_environment())
        .run()
        .await;
    let ids: Vec<&str> = seen
        .iter()
        .filter_map(|seen| match seen {
            Seen::Claimed(claim) => Some(claim.call_id.as_str()),
            _ => None,
        })
        .collect();
    let mut unique = ids.clone();
    unique.push("call_0");
    unique.sort_unstable();
    unique.dedup();
    assert_eq!((ids.len(), unique.len()), (5, 6), "{ids:?}");
    assert!(ids.contains(&"call_1") && ids.iter().all(|id| !id.is_empty() && id.len() <= 64));
}
