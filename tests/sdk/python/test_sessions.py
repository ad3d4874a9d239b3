import openai
import pytest
from support import NONE, agents, idle, message, ready, said, send, session, sessions, tool


def test_a_session_runs_its_first_turn_and_is_read_back():
    made = session("@say hello", metadata={"run": "first"})
    assert made.id.startswith("sess_")
    done = idle(made.id)
    assert (done.error, done.metadata) == (None, {"run": "first"})
    assert said(made.id) == ["hello"]

    [turn] = sessions.turns.list(made.id)
    assert turn.status == "completed"
    assert turn.usage.total_tokens > 0
    assert sessions.turns.retrieve(turn.id, session_id=made.id) == turn
    assert list(sessions.traces.list(made.id)) == []
    assert list(sessions.subagents.list(made.id)) == []


def test_a_session_keeps_its_agent_as_it_was():
    agent = agents.create(model="demo", instructions="before")
    made = sessions.create(agent_id=agent.id, environment=NONE, input="@say x")
    agents.update(agent.id, instructions="after")
    now = sessions.retrieve(made.id)
    assert (now.agent.id, now.agent.instructions) == (agent.id, "before")
    assert [one.id for one in sessions.list(agent_id=agent.id)] == [made.id]


def test_a_session_is_changed_and_deleted():
    session_id = ready()
    assert sessions.update(session_id, metadata={"state": "kept"}).metadata == {"state": "kept"}
    gone = sessions.delete(session_id)
    assert (gone.id, gone.deleted, gone.object) == (session_id, True, "agent.session.deleted")
    with pytest.raises(openai.NotFoundError):
        sessions.retrieve(session_id)
    with pytest.raises(openai.NotFoundError):
        sessions.items.list(session_id)


@pytest.mark.parametrize("order", ["asc", "desc"])
def test_lists_go_page_by_page_over_every_kind_of_page(order):
    def ordered(things):
        return things if order == "asc" else things[::-1]

    metadata = {"walk": f"pages & more {order}"}
    made = [session(f"@say first of {at}", metadata=metadata).id for at in range(5)]
    assert [one.id for one in sessions.list(metadata=metadata, order=order, limit=2)] == ordered(made)

    session_id = made[0]
    idle(session_id)
    for at in [2, 3, 4]:
        send(session_id, message(f"@say a{at}\n@say b{at}"))
        idle(session_id)
    turns = list(sessions.turns.list(session_id, order=order, limit=3))
    assert len({turn.id for turn in turns}) == 4
    items = list(sessions.items.list(session_id, order=order, limit=2))
    assert items == list(sessions.items.list(session_id, order=order, limit=100))
    assert len(items) == 2 + 3 * 3

    # The one kind of page that goes on behind its own `last_id`.
    last = ordered(turns)[-1]
    own = sessions.turns.items.list(last.id, session_id=session_id, order=order, limit=1)
    assert [item.content[0].text for item in own] == ordered(["@say a4\n@say b4", "a4", "b4"])


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({"agent": {"model": "demo"}, "environment": NONE}, "input"),
        ({"agent": {}, "environment": NONE, "input": "x"}, "agent.model"),
        ({"agent": {"model": "demo"}, "environment": {"type": "moon"}, "input": "x"}, "environment.type"),
        ({"agent": {"model": "demo", "tools": [tool("")]}, "environment": NONE, "input": "x"}, "agent.tools[0].name"),
    ],
)
def test_a_session_without_what_it_needs_is_refused_and_nothing_is_left_of_it(body, param):
    metadata = {"refused": param}
    with pytest.raises(openai.BadRequestError) as refused:
        sessions.create(**body, metadata=metadata)
    assert refused.value.param == param
    assert list(sessions.list(metadata=metadata)) == []
