import os
from uuid import uuid4

import openai
import pytest
from support import NONE, agent_with, agents, idle, message, ready, said, send, sessions, trouble, until

NOBODY = "sess_00000000000000000000000000"


def test_a_server_that_fails_twice_is_asked_a_third_time():
    trouble(kind="status", status=503, method="GET", path="^/v1/agents$", times=2, headers={"retry-after-ms": "1"})
    assert isinstance(agents.list().data, list)


def test_an_input_whose_answer_was_lost_twice_is_there_once():
    session_id = ready()
    trouble(kind="lost_answer", method="POST", path=f"{session_id}/events$", times=2)
    send(session_id, message("@say exactly once"), idempotency_key=str(uuid4()))
    idle(session_id)
    assert said(session_id) == ["ready", "exactly once"]


def test_a_session_whose_creation_was_answered_into_nothing_is_there_once():
    metadata = {"lost": str(uuid4())}
    trouble(kind="lost_answer", method="POST", path="/agents/sessions$", times=2)
    made = sessions.create(
        agent={"model": "demo"},
        environment=NONE,
        input="@say once",
        metadata=metadata,
        extra_headers={"Idempotency-Key": str(uuid4())},
    )
    assert [one.id for one in sessions.list(metadata=metadata)] == [made.id]


def test_the_same_key_with_another_body_is_a_conflict_that_nobody_repeats():
    session_id = ready()
    key = str(uuid4())
    send(session_id, message("@say a"), idempotency_key=key)
    with pytest.raises(openai.ConflictError) as refused:
        send(session_id, message("@say b"), idempotency_key=key)
    assert refused.value.response.headers["x-should-retry"] == "false"


def test_a_result_for_a_call_that_nobody_made_is_refused_in_the_words_that_helpers_wait_for():
    session_id = ready(agent=agent_with("ask"))
    send(session_id, message("@call ask {}\n@say thanks"))
    [action] = until(session_id, lambda now: now.status == "requires_action").required_actions
    result = {"type": "agent.session.input.tool_result", "turn_id": action.turn_id, "success": True, "output": "x"}
    with pytest.raises(openai.BadRequestError) as refused:
        send(session_id, {**result, "call_id": "call_of_nobody"})
    assert refused.value.code == "invalid_request_error"
    assert refused.value.body["message"] == "Unknown pending tool call: call_of_nobody"

    # A refusal is not remembered under its key: the helpers send the same body under the same key again.
    key = str(uuid4())
    for _ in range(2):
        send(session_id, {**result, "call_id": action.call_id}, idempotency_key=key)
    idle(session_id)
    assert said(session_id) == ["ready", "thanks"]


def test_a_batch_is_taken_whole_or_not_at_all():
    session_id = ready()
    result = {"type": "agent.session.input.tool_result", "turn_id": "turn_x", "call_id": "call_x", "success": True}
    with pytest.raises(openai.BadRequestError):
        send(session_id, message("@say never"), result)
    assert said(session_id) == ["ready"]


@pytest.mark.parametrize(
    "ask",
    [
        lambda: sessions.retrieve(NOBODY),
        lambda: sessions.update(NOBODY),
        lambda: sessions.delete(NOBODY),
        lambda: sessions.items.list(NOBODY),
        lambda: sessions.turns.list(NOBODY),
        lambda: sessions.turns.retrieve("turn_x", session_id=NOBODY),
        lambda: sessions.turns.items.list("turn_x", session_id=NOBODY),
        lambda: sessions.artifacts.list(NOBODY),
        lambda: sessions.artifacts.content("art_x", session_id=NOBODY),
        lambda: sessions.events.stream(NOBODY),
        lambda: send(NOBODY, message("x")),
        lambda: agents.retrieve("agent_x"),
    ],
)
def test_an_id_of_nothing_is_not_found(ask):
    with pytest.raises(openai.NotFoundError) as refused:
        ask()
    assert refused.value.code == "not_found_error"


def test_what_a_key_is_not_for_is_denied():
    reader = openai.OpenAI(api_key=os.environ["READER_KEY"]).beta.agents
    assert isinstance(reader.list().data, list)
    with pytest.raises(openai.PermissionDeniedError) as refused:
        reader.create(model="demo")
    assert refused.value.code == "forbidden"


def test_who_asks_too_often_is_told_when_to_come_back_and_comes_back():
    hasty = openai.OpenAI(api_key=os.environ["SLOW_KEY"], max_retries=0).beta.agents
    with pytest.raises(openai.RateLimitError) as refused:
        for _ in range(20):
            hasty.list()
    assert refused.value.code == "rate_limit_exceeded"
    assert int(refused.value.response.headers["retry-after-ms"]) > 0
    patient = openai.OpenAI(api_key=os.environ["SLOW_KEY"]).beta.agents
    assert isinstance(patient.list().data, list)


def test_a_server_that_goes_on_failing_is_an_error_of_its_own():
    trouble(kind="status", status=500, method="GET", path="^/v1/agents$", times=1)
    with pytest.raises(openai.InternalServerError):
        openai.OpenAI(max_retries=0).beta.agents.list()


def test_what_cannot_be_reached_is_a_connection_error():
    nowhere = openai.OpenAI(base_url="http://127.0.0.1:9/v1", max_retries=0)
    with pytest.raises(openai.APIConnectionError):
        nowhere.beta.agents.list()
