"""What no schema says: bodies that break such a rule are not sent, because nobody could tell whether a refusal is right."""

import schemathesis

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
