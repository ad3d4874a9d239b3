import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import openai
import pytest
from openai.lib.beta.agents import AgentTurnResultError
from support import agent_with, idle, message, ready, said, send, sessions, streamed, trouble, types, until


def durable(event):
    """Whether a stream can go on behind it."""
    return not event.type.endswith(".delta")


def test_a_creation_that_streams_tells_its_first_turn_from_beginning_to_end():
    with streamed("@reason think\n@say first\n@slow 1 second and last") as stream:
        events = list(stream)
    seen = types(events)
    assert seen[0] == "created"
    assert seen.index("turn.created") < seen.index("turn.item.added")
    assert seen[-2:] == ["turn.completed", "idle"]
    done = [event.item for event in events if event.type == "agent.session.turn.item.done"]
    assert [item.type for item in done] == ["reasoning", "message", "message"]
    deltas = [event for event in events if event.type == "agent.session.turn.output_text.delta"]
    written = "".join(event.delta for event in deltas if event.item_id == done[2].id)
    # Some may be missing, from one on.
    assert "second and last".startswith(written)


def test_a_creation_that_streams_collects_its_result():
    with streamed("@say commentary\n@say the answer") as stream:
        result = stream.get_final_result()
    assert result.output_text == "the answer"
    assert result.turn.status == "completed"


def test_the_helper_for_one_turn_subscribes_sends_answers_calls_and_ends():
    session_id = ready(agent=agent_with("double"))
    called = []

    def double(arguments):
        called.append(arguments["n"])
        return str(2 * arguments["n"])

    text = '@call double {"n": 4}\n@call double {"n": 5}\n@say all doubled'
    with sessions.stream(session_id, input=text, tool_handlers={"double": double}) as stream:
        assert stream.get_final_result().output_text == "all doubled"
    assert called == [4, 5]
    with sessions.stream(session_id, input="@say once more") as stream:
        assert stream.get_final_result().output_text == "once more"


def test_a_handler_that_raises_is_a_failed_call_and_the_turn_goes_on():
    session_id = ready(agent=agent_with("broken"))
    failures = []

    def broken(_arguments):
        raise RuntimeError("a secret of the client")

    helper = sessions.stream(
        session_id,
        input="@call broken {}\n@say went on",
        tool_handlers={"broken": broken},
        on_tool_error=failures.append,
    )
    with helper as stream:
        assert stream.get_final_result().output_text == "went on"
    assert len(failures) == 1
    items = list(sessions.items.list(session_id))
    [output] = [item for item in items if item.type == "function_call_output"]
    assert output.status == "failed"
    assert "a secret of the client" not in repr(items)


def test_a_call_without_a_handler_is_a_required_action():
    session_id = ready(agent=agent_with("ask"))
    with sessions.stream(session_id, input='@call ask {"who": "you"}\n@say thanks') as stream:
        with pytest.raises(AgentTurnResultError) as failed:
            stream.get_final_result()
    assert failed.value.reason == "requires_action"
    now = until(session_id, lambda now: now.status == "requires_action")
    [action] = now.required_actions
    assert (action.type, action.arguments) == ("function_call", {"who": "you"})
    result = {
        "type": "agent.session.input.tool_result",
        "turn_id": action.turn_id,
        "call_id": action.call_id,
        "success": True,
        "output": "me",
    }
    send(session_id, result)
    idle(session_id)
    assert said(session_id) == ["ready", "thanks"]


def test_a_turn_that_fails_says_so_and_the_session_is_usable():
    with streamed("@fail rate_limit_exceeded slow down") as stream:
        with pytest.raises(AgentTurnResultError) as failed:
            stream.get_final_result()
    assert failed.value.reason == "failed"
    assert failed.value.turn.error.code == "rate_limit_exceeded"
    with sessions.stream(failed.value.session_id, input="@say better") as stream:
        assert stream.get_final_result().output_text == "better"


def test_input_into_a_running_turn_steers_it_and_no_second_turn_begins():
    session_id = ready()
    seen = []
    with sessions.events.stream(session_id) as stream:
        send(session_id, message("@slow 40 one two three four five six seven eight nine ten"))
        for event in stream:
            seen.append(event)
            if event.type == "agent.session.turn.in_progress":
                send(session_id, message("@say steered"))
            if event.type == "agent.session.idle":
                break
    assert types(seen).count("turn.created") == 1
    assert said(session_id)[-1] == "steered"
    assert len(list(sessions.turns.list(session_id))) == 2


def test_a_cancel_stops_the_active_turn_and_the_next_one_runs():
    session_id = ready()
    seen = []
    with sessions.stream(session_id, input="@sleep 60000\n@say too late") as stream:
        for event in stream:
            seen.append(event)
            if event.type == "agent.session.turn.in_progress":
                send(session_id, {"type": "agent.session.input.cancel"})
    assert types(seen)[-2:] == ["turn.cancelled", "idle"]
    turns = list(sessions.turns.list(session_id))
    assert turns[0].status == "cancelled"
    with sessions.stream(session_id, input="@say next") as stream:
        assert stream.get_final_result().output_text == "next"


def test_leaving_a_stream_cancels_nothing():
    with streamed("@slow 5 a b c d e f") as stream:
        for event in stream:
            if event.type == "agent.session.created":
                session_id = event.session.id
            if event.type == "agent.session.turn.output_text.delta":
                break
    idle(session_id)
    assert said(session_id) == ["a b c d e f"]


def test_padding_is_there_unless_it_is_not_wanted():
    with streamed("@say x") as stream:
        assert all(event.obfuscation for event in stream)
    with streamed("@say x", stream_options={"include_obfuscation": False}) as stream:
        assert all(getattr(event, "obfuscation", None) is None for event in stream)


def test_two_clients_follow_one_session_and_see_the_same():
    session_id = ready()
    following = threading.Barrier(3)

    def follow():
        seen = []
        with sessions.events.stream(session_id, include_obfuscation=False) as stream:
            following.wait(60)
            for event in stream:
                if durable(event):
                    seen.append((event.type, event.event_id))
                if event.type == "agent.session.idle":
                    return seen
        raise AssertionError("the stream ended")

    with ThreadPoolExecutor() as pool:
        both = [pool.submit(follow), pool.submit(follow)]
        following.wait(60)
        send(session_id, message("@say to both"))
        one, other = [future.result(60) for future in both]
    assert one == other
    assert len(one) >= 5


def test_clients_that_create_and_talk_at_once_do_not_disturb_each_other():
    def talk(name):
        with streamed(f"@say hello from {name}") as stream:
            session_id = stream.get_final_result().session_id
        for at in [1, 2, 3]:
            with sessions.stream(session_id, input=f"@say {name} {at}") as stream:
                assert stream.get_final_result().output_text == f"{name} {at}"
        return said(session_id)

    names = ["ann", "bob", "cy", "di"]
    with ThreadPoolExecutor() as pool:
        every = list(pool.map(talk, names))
    assert every == [[f"hello from {name}", *(f"{name} {at}" for at in [1, 2, 3])] for name in names]


def test_a_stream_that_is_cut_goes_on_behind_the_last_event_with_nothing_lost_and_nothing_twice():
    session_id = ready()
    trouble(kind="cut_stream", method="GET", path=f"^/v1/agents/sessions/{session_id}/events$", after=3, times=2)
    seen = []
    cuts = 0
    sent = False
    while not (seen and seen[-1].type == "agent.session.idle"):
        assert cuts < 10, "it never gets through"
        behind = [event.event_id for event in seen if durable(event)][-1:]
        query = {"after": behind[0]} if behind else {}
        with sessions.events.stream(session_id, extra_query=query) as stream:
            if not sent:
                send(session_id, message("@say one\n@say two\n@say three"))
                sent = True
            try:
                for event in stream:
                    seen.append(event)
                    if event.type == "agent.session.idle":
                        break
            except openai.APIConnectionError:
                cuts += 1
    assert cuts == 2
    ids = [event.event_id for event in seen if durable(event)]
    assert len(set(ids)) == len(ids)
    done = [event.item.content[0].text for event in seen if event.type == "agent.session.turn.item.done"]
    assert done == ["one", "two", "three"]


def test_a_stream_that_is_cut_where_nothing_is_replayed_breaks_the_helper_and_the_turn_goes_on():
    session_id = ready()
    trouble(kind="cut_stream", method="GET", path=f"{session_id}/events$", after=2)
    with pytest.raises((openai.APIConnectionError, AgentTurnResultError)):
        with sessions.stream(session_id, input="@say kept") as stream:
            stream.get_final_result()
    idle(session_id)
    assert said(session_id) == ["ready", "kept"]


def test_the_asynchronous_client_is_a_client_too():
    async def talk():
        async with openai.AsyncOpenAI() as client:
            sessions = client.beta.agents.sessions
            agent = agent_with("double")
            stream = await sessions.create(agent=agent, environment={"type": "none"}, input="@say hello", stream=True)
            async with stream:
                first = await stream.get_final_result()

            async def double(arguments):
                return str(2 * arguments["n"])

            helper = sessions.stream(
                first.session_id, input='@call double {"n": 4}\n@say doubled', tool_handlers={"double": double}
            )
            async with helper as stream:
                second = await stream.get_final_result()
            items = [item async for item in sessions.items.list(first.session_id, order="asc", limit=2)]
            return first.output_text, second.output_text, [item.type for item in items]

    messages = ["message", "message", "message"]
    wanted = ("hello", "doubled", [*messages, "function_call", "function_call_output", "message"])
    assert asyncio.run(talk()) == wanted
