import base64
import io

import openai
import pytest
from support import client, idle, session, sessions, streamed

environments = client.beta.agents.environments
templates = environments.templates

HOSTED = {"type": "openai_hosted"}


def inline(path, text):
    return {"type": "inline", "path": path, "data": base64.b64encode(text.encode()).decode()}


def test_a_template_is_created_read_changed_listed_and_deleted_and_shows_no_secret():
    made = templates.create(
        name="desk",
        env={"TOKEN": "s3cret"},
        files=[inline("/workspace/notes.txt", "hello")],
        network={"access": "disabled"},
    )
    [file] = made.files
    assert (made.name, file.path, file.size_bytes) == ("desk", "/workspace/notes.txt", 5)
    assert "s3cret" not in made.model_dump_json()
    assert templates.retrieve(made.id) == made
    assert templates.update(made.id, name="table").name == "table"
    assert made.id in [template.id for template in templates.list(limit=1)]
    assert templates.delete(made.id).deleted
    with pytest.raises(openai.NotFoundError):
        templates.retrieve(made.id)


def test_files_of_a_request_of_the_files_api_and_of_a_template_are_there_when_the_first_command_runs():
    file = client.files.create(file=("u", io.BytesIO(b"uploaded\n")), purpose="user_data")
    template = templates.create(files=[inline("/workspace/t.txt", "of the template\n")])
    own = {
        **HOSTED,
        "files": [
            inline("/workspace/in/i.txt", "in the request\n"),
            {"type": "file_id", "file_id": file.id, "path": "/workspace/u.txt"},
        ],
    }
    shared = {**HOSTED, "environment_template_id": template.id}
    outputs = []
    for environment, commands in [
        (own, "@exec cat in/i.txt\n@exec cat u.txt\n@say read"),
        (shared, "@exec cat t.txt\n@say read"),
    ]:
        with streamed(commands, environment=environment) as stream:
            done = [event.item for event in stream if event.type == "agent.session.turn.item.done"]
        outputs += [item.output for item in done if item.type == "command_execution"]
    assert outputs == ["in the request\n", "uploaded\n", "of the template\n"]


def test_the_files_of_a_living_environment_are_listed_and_written(tmp_path):
    made = session("@exec mkdir d && echo 1 > d/a.txt && echo 22 > b.txt\n@say written", environment=HOSTED)
    idle(made.id)
    environment_id = made.environment.id
    assert environments.retrieve(environment_id).type == "openai_hosted"
    assert list(environments.files.list(environment_id, limit=1))

    put = environments.files.create(environment_id, **inline("/workspace/put.txt", "put here"))
    assert (put.environment_id, put.path, put.size_bytes) == (environment_id, "/workspace/put.txt", 8)
    with sessions.stream(made.id, input="@exec cat put.txt\n@say read") as stream:
        done = [event.item for event in stream if event.type == "agent.session.turn.item.done"]
    assert done[0].output == "put here"


@pytest.mark.parametrize("path", ["/etc/passwd", "/workspace/../x", "x", "/workspace"])
def test_a_path_that_leaves_the_workspace_is_refused(path):
    made = session("@say x", environment=HOSTED)
    idle(made.id)
    with pytest.raises(openai.BadRequestError) as refused:
        environments.files.create(made.environment.id, **inline(path, "x"))
    assert refused.value.param == "path"
