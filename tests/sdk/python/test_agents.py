import openai
import pytest
from support import agents, tool


def test_an_agent_is_created_read_changed_and_deleted():
    made = agents.create(
        model="demo",
        name="clerk",
        instructions="Be brief.",
        metadata={"team": "a b/c"},
        tools=[tool("lookup")],
    )
    assert made.id.startswith("agent_")
    assert made.metadata == {"team": "a b/c"}
    assert agents.retrieve(made.id) == made

    changed = agents.update(made.id, name=None, metadata={"team": "b"})
    assert (changed.name, changed.instructions, changed.metadata) == (None, "Be brief.", {"team": "b"})
    assert agents.update(made.id).metadata == {"team": "b"}

    gone = agents.delete(made.id)
    assert (gone.id, gone.deleted, gone.object) == (made.id, True, "agent.deleted")
    with pytest.raises(openai.NotFoundError):
        agents.retrieve(made.id)


@pytest.mark.parametrize("order", ["asc", "desc"])
def test_agents_are_listed_page_by_page(order):
    made = [agents.create(model="demo", name=name).id for name in ["one", "two", "three", "four", "five"]]
    walked = [agent.id for agent in agents.list(order=order, limit=2)]
    ours = [agent_id for agent_id in walked if agent_id in made]
    assert ours == (made if order == "asc" else made[::-1])
    for agent_id in made:
        agents.delete(agent_id)


@pytest.mark.parametrize(
    ("more", "param"),
    [
        ({"extra_body": {"colour": "red"}}, "colour"),
        ({"model": 7}, "model"),
        ({"metadata": {"k" * 65: "v"}}, "metadata"),
        ({"tools": [{"type": "magic"}]}, "tools[0].type"),
    ],
)
def test_bodies_are_read_strictly_and_errors_name_what_is_wrong(more, param):
    with pytest.raises(openai.BadRequestError) as refused:
        agents.create(**{"model": "demo", **more})
    error = refused.value
    assert (error.status_code, error.code) == (400, "invalid_request_error")
    assert error.param is not None and error.param.startswith(param)
    assert error.request_id.startswith("req_")


def test_without_a_good_key_there_is_nothing():
    stranger = openai.OpenAI(api_key="rtk_of_nobody")
    with pytest.raises(openai.AuthenticationError) as refused:
        stranger.beta.agents.list()
    assert refused.value.code == "unauthorized"


def test_without_the_right_beta_header_there_is_nothing():
    with pytest.raises(openai.BadRequestError) as refused:
        agents.list(extra_headers={"OpenAI-Beta": "agents=v0"})
    assert refused.value.code == "invalid_beta"
