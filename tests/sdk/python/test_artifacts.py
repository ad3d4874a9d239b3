import hashlib

import openai
import pytest
from support import idle, session, sessions, streamed

HOSTED = {"environment": {"type": "openai_hosted"}}


def test_files_that_a_turn_wrote_are_artifacts_byte_by_byte(tmp_path):
    script = "mkdir -p outputs/deep && seq 1 20000 > outputs/numbers.txt && printf '\\000\\377' > outputs/deep/bytes.bin"
    with streamed(f"@exec {script}\n@say written", **HOSTED) as stream:
        result = stream.get_final_result()
    listed = list(sessions.artifacts.list(result.session_id, limit=1, order="asc"))
    paths = sorted(artifact.path for artifact in listed)
    assert paths == ["/workspace/outputs/deep/bytes.bin", "/workspace/outputs/numbers.txt"]

    [numbers] = [artifact for artifact in listed if artifact.path.endswith("numbers.txt")]
    of = {"session_id": result.session_id}
    assert sessions.artifacts.retrieve(numbers.id, **of) == numbers
    content = sessions.artifacts.content(numbers.id, **of).read()
    wanted = "".join(f"{at}\n" for at in range(1, 20001)).encode()
    assert len(content) == numbers.size_bytes
    assert hashlib.sha256(content).hexdigest() == hashlib.sha256(wanted).hexdigest()

    # The helper finds a Turn's artifact by its path.
    found = sessions.artifacts.for_result(result).content("/workspace/outputs/deep/bytes.bin")
    assert found.read() == b"\x00\xff"


def test_artifacts_are_told_apart_by_their_turn():
    with streamed("@exec mkdir -p outputs && echo 1 > outputs/a.txt\n@say one", **HOSTED) as stream:
        first = stream.get_final_result()
    with sessions.stream(first.session_id, input="@exec echo 22 > outputs/a.txt\n@say two") as stream:
        second = stream.get_final_result()
    for result, wanted in [(first, b"1\n"), (second, b"22\n")]:
        assert sessions.artifacts.for_result(result).content("/workspace/outputs/a.txt").read() == wanted


def test_an_artifact_is_deleted_and_the_others_stay():
    with streamed("@exec mkdir -p outputs && echo same | tee outputs/a.txt > outputs/b.txt\n@say written", **HOSTED) as stream:
        of = {"session_id": stream.get_final_result().session_id}
    first, second = sessions.artifacts.list(**of, order="asc")
    gone = sessions.artifacts.delete(first.id, **of)
    assert (gone.id, gone.deleted, gone.object) == (first.id, True, "agent.session.artifact.deleted")
    assert list(sessions.artifacts.list(**of)) == [second]
    with pytest.raises(openai.NotFoundError):
        sessions.artifacts.retrieve(first.id, **of)
    # Its bytes are those of the one that stays.
    assert sessions.artifacts.content(second.id, **of).read() == b"same\n"


def test_commands_are_items_with_their_output():
    with streamed("@exec echo out; exit 3\n@say ran", **HOSTED) as stream:
        done = [event.item for event in stream if event.type == "agent.session.turn.item.done"]
    assert (done[0].type, done[0].exit_code, done[0].status, done[0].output) == (
        "command_execution",
        3,
        "failed",
        "out\n",
    )


def test_an_artifact_of_nobody_is_not_found():
    made = session("@say x", **HOSTED)
    idle(made.id)
    with pytest.raises(openai.NotFoundError):
        sessions.artifacts.content("art_00000000000000000000000000", session_id=made.id)
