import io

import openai
import pytest
from support import client

files = client.files


def upload(data, name, **more):
    return files.create(**{"file": (name, io.BytesIO(data)), "purpose": "user_data", **more})


def test_a_file_is_uploaded_read_back_byte_by_byte_and_deleted():
    data = b"not only text \x00\r\n--boundary" * 100_000
    made = upload(data, "notes.bin")
    assert (made.filename, made.bytes, made.purpose) == ("notes.bin", len(data), "user_data")
    assert files.retrieve(made.id) == made
    assert files.content(made.id).read() == data
    gone = files.delete(made.id)
    assert (gone.id, gone.deleted, gone.object) == (made.id, True, "file")
    for ask in [files.retrieve, files.content, files.delete]:
        with pytest.raises(openai.NotFoundError):
            ask(made.id)


def test_a_file_can_expire():
    made = upload(b"soon gone", "a.txt", expires_after={"anchor": "created_at", "seconds": 3600})
    assert made.expires_at == made.created_at + 3600
    with pytest.raises(openai.BadRequestError) as refused:
        upload(b"x", "a.txt", expires_after={"anchor": "created_at", "seconds": 1})
    assert refused.value.param.startswith("expires_after")


@pytest.mark.parametrize("order", ["asc", "desc"])
def test_files_are_listed_page_by_page_by_purpose(order):
    purpose = "vision" if order == "asc" else "assistants"
    made = [upload(name.encode(), name, purpose=purpose).id for name in ["one", "two", "three"]]
    walked = [file.id for file in files.list(purpose=purpose, order=order, limit=2)]
    assert walked == (made if order == "asc" else made[::-1])


def test_an_upload_without_what_it_needs_is_refused():
    with pytest.raises(openai.BadRequestError) as refused:
        upload(b"x", "x.txt", purpose="decoration")
    assert refused.value.param == "purpose"
