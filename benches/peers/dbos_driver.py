"""DBOS on SQLite, as it comes: a library in this process.

An accept is a workflow that is enqueued under an id of its own in a queue that nobody works on. A Turn is a workflow of two recorded
steps that is called. (A file named after the library would hide it.)
"""

import json
import os
import sys
import threading
import time
import uuid
from importlib.metadata import version

from dbos import DBOS, DBOSClient, SetWorkflowID

# A thousand bytes, which is a usual message; and what a Turn of ours is asked for.
THOUSAND = ("Please look at the log of last night and say what went wrong there, and why. " * 13)[:1000]
SHORT = "@exec ls -l\n@say done"

MOST_CLIENTS = 64
URL = f"sqlite:///{os.getcwd()}/peer.sqlite"

DBOS(
    config={
        "name": "peer",
        "system_database_url": URL,
        "sys_db_pool_size": MOST_CLIENTS,
        "log_level": "ERROR",
    }
)


@DBOS.step()
def command(text):
    return f"output of {text}"


@DBOS.step()
def answer(output):
    return f"done after {len(output)}"


@DBOS.workflow()
def turn(text):
    return answer(command(text))


def say(line):
    print(json.dumps(line), flush=True)


def load(once, clients, seconds):
    """So many clients do `once` again and again for so many seconds."""
    latencies, failed = [], []
    begun = time.monotonic()

    def client():
        mine = []
        try:
            while time.monotonic() < begun + seconds:
                before = time.monotonic()
                once()
                mine.append(time.monotonic() - before)
        except Exception as error:
            failed.append(error)
        latencies.extend(mine)

    threads = [threading.Thread(target=client) for _ in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failed:
        raise failed[0]
    elapsed = time.monotonic() - begun
    latencies.sort()
    count = len(latencies)

    def at(part):
        return 1e6 * latencies[round(part * (count - 1))]

    return {"count": count, "rate": count / elapsed, "p50_us": at(0.5), "p99_us": at(0.99)}


def main():
    DBOS.launch()
    client = DBOSClient(system_database_url=URL, system_database_pool_size=MOST_CLIENTS)

    def accept_once():
        workflow = {"queue_name": "accepts", "workflow_name": "turn", "workflow_id": str(uuid.uuid4())}
        client.enqueue(workflow, THOUSAND)

    def turn_once():
        with SetWorkflowID(str(uuid.uuid4())):
            turn(SHORT)

    turn_once()
    say({"engine": f"DBOS {version('dbos')} on SQLite", "pids": [os.getpid()]})
    for line in sys.stdin:
        what, clients, seconds = line.split()
        once = accept_once if what == "accept" else turn_once
        say(load(once, int(clients), float(seconds)))
    client.destroy()
    DBOS.destroy()


main()
