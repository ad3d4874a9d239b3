"""What the tests of the Python SDK share."""

import json
import os
import time
import urllib.request

import openai

# As anybody would make it: address and key come from the environment.
client = openai.OpenAI()
agents = client.beta.agents
sessions = agents.sessions

# Nothing that a test waits for takes longer, even on a machine that is busy with something else.
PATIENCE_S = 60

NONE = {"type": "none"}


def session(text, **more):
    """A Session without an environment; `text` are the demo model's directives."""
    body = {"agent": {"model": "demo"}, "environment": NONE, "input": text}
    return sessions.create(**{**body, **more})


def streamed(text, **more):
    """The same, streamed."""
    return session(text, stream=True, **more)


def tool(name):
    """A function of an Agent that takes any object."""
    return {"type": "function", "name": name, "description": name, "parameters": {"type": "object"}}


def agent_with(*names):
    return {"model": "demo", "tools": [tool(name) for name in names]}


def message(text):
    content = [{"type": "input_text", "text": text}]
    return {"type": "agent.session.input.message", "input": [{"role": "user", "content": content}]}


def send(session_id, *events, **more):
    return sessions.events.create(session_id, events=list(events), **more)


def types(events):
    return [event.type.removeprefix("agent.").removeprefix("session.") for event in events]


def until(session_id, wanted):
    """The Session once it is as wanted."""
    end = time.monotonic() + PATIENCE_S
    while True:
        now = sessions.retrieve(session_id)
        if wanted(now):
            return now
        assert time.monotonic() < end, f"still {now.status}"
        time.sleep(0.025)


def idle(session_id):
    return until(session_id, lambda now: now.status == "idle")


def ready(**more):
    """A Session whose first Turn is over."""
    made = session("@say ready", **more)
    idle(made.id)
    return made.id


def said(session_id):
    """Whole text of the assistant in a Session's Items, oldest first."""
    items = sessions.items.list(session_id, order="asc")
    messages = [item for item in items if item.type == "message" and item.role == "assistant"]
    return ["".join(part.text for part in item.content) for item in messages]


def trouble(**order):
    """Orders trouble from what stands before the daemon."""
    url = os.environ["OPENAI_BASE_URL"].removesuffix("/v1") + "/__proxy/trouble"
    with urllib.request.urlopen(url, data=json.dumps(order).encode()) as answer:
        assert answer.status == 200
