"""Fetches the document, and makes one Session that has everything a Session can have. Prints its ids as settings of a shell.

Arguments: the daemon's base URL (it ends in /v1), and the file to write the document to. The key is in RAT_THINGS_KEY.
"""

import json
import os
import sys
import urllib.request

BASE, TO = sys.argv[1:]
OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))
HEADERS = {"authorization": "Bearer " + os.environ["RAT_THINGS_KEY"], "openai-beta": "agents=v1"}


def ask(url, body=None):
    data = None if body is None else json.dumps(body).encode()
    headers = HEADERS | ({} if body is None else {"content-type": "application/json"})
    with OPENER.open(urllib.request.Request(url, data, headers), timeout=60) as answer:
        return answer.read()


with open(TO, "wb") as document:
    document.write(ask(BASE.removesuffix("/v1") + "/openapi.json"))

# The demo model looks around and writes a report. The stream ends with the Turn.
session = {"agent": {"model": "demo"}, "environment": {"type": "openai_hosted"}, "input": "Have a look.", "stream": True}
first = next(line for line in ask(BASE + "/agents/sessions", session).splitlines() if line.startswith(b"data: "))
session = json.loads(first.removeprefix(b"data: "))["session"]["id"]
within = f"{BASE}/agents/sessions/{session}"
print("RAT_THINGS_SESSION=" + session)
for name, what in (("TURN", "turns"), ("ARTIFACT", "artifacts")):
    found = json.loads(ask(f"{within}/{what}"))["data"]
    if not found:
        sys.exit(f"the demo model's Session has no {what}")
    print(f"RAT_THINGS_{name}={found[0]['id']}")
