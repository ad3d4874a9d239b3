"""What no schema says.

Bodies that break a rule between fields are not sent, because nobody could tell whether a refusal is right. And half of the ids that
mean nothing become those of the Session that begin.py made, so that more is asked for than what is not there.
"""

import itertools
import os

import schemathesis

KNOWN = {
    "session_id": os.environ["RAT_THINGS_SESSION"],
    "turn_id": os.environ["RAT_THINGS_TURN"],
    "artifact_id": os.environ["RAT_THINGS_ARTIFACT"],
}
COUNT = itertools.count()

CREDENTIALS = {"authorization", "proxy-authorization", "cookie", "x-api-key"}


def tools_of(body):
    for holder in (body, body.get("agent")):
        tools = holder.get("tools") if isinstance(holder, dict) else None
        if isinstance(tools, list):
            yield [tool for tool in tools if isinstance(tool, dict)]


def named_twice(tools):
    """Two functions of one list have different names."""
    names = [str(tool.get("name")) for tool in tools if tool.get("type") == "function"]
    return len(names) != len(set(names))


def shows_credentials(tools):
    """What carries credentials is no header of a saved Agent."""
    for tool in tools:
        transport = tool.get("transport")
        headers = transport.get("headers") if isinstance(transport, dict) else None
        if isinstance(headers, dict) and any(name.strip().lower() in CREDENTIALS for name in headers):
            return True
    return False


@schemathesis.hook
def filter_body(context, body):
    if not isinstance(body, dict):
        return True
    return not any(named_twice(tools) or shows_credentials(tools) for tools in tools_of(body))


@schemathesis.hook
def before_call(context, case, kwargs):
    ids = case.path_parameters or {}
    session = ids.get("session_id")
    # Ids of Sessions that were made meanwhile are left alone, and that one Session has to stay.
    if session is None or str(session).startswith("sess_") or case.operation.method.upper() == "DELETE":
        return
    if next(COUNT) % 2 == 0:
        case.path_parameters = {name: KNOWN.get(name, value) for name, value in ids.items()}
