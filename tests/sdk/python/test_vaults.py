import openai
import pytest
from support import client

vaults = client.beta.agents.vaults


def bearer(token):
    return {"type": "static_bearer", "token": token, "mcp_server_url": "https://tools.example/mcp"}


def test_a_vault_is_created_read_changed_listed_and_deleted():
    made = vaults.create(name="keys", metadata={"of": "tests"})
    assert vaults.retrieve(made.id) == made
    assert vaults.update(made.id, metadata={"of": "nobody"}).metadata == {"of": "nobody"}
    listed = vaults.list(metadata={"of": "nobody"}, status=["active", "archived"])
    assert [vault.id for vault in listed] == [made.id]
    gone = vaults.delete(made.id)
    assert (gone.id, gone.deleted, gone.object) == (made.id, True, "vault.deleted")
    with pytest.raises(openai.NotFoundError):
        vaults.retrieve(made.id)


def test_what_a_credential_holds_is_never_shown():
    vault_id = vaults.create().id
    made = vaults.credentials.create(vault_id, name=" tools ", auth=bearer("s3cret-token"))
    assert made.name == "tools"
    rotated = {"type": "static_bearer", "token": "an0ther-token"}
    changed = vaults.credentials.update(made.id, vault_id=vault_id, auth=rotated)
    shown = [
        made,
        changed,
        vaults.credentials.retrieve(made.id, vault_id=vault_id),
        *vaults.credentials.list(vault_id, limit=1),
    ]
    assert len(shown) == 4
    text = "".join(one.model_dump_json() for one in shown)
    assert "s3cret" not in text and "an0ther" not in text
    with pytest.raises(openai.BadRequestError) as refused:
        vaults.credentials.update(made.id, vault_id=vault_id, auth={"type": "mcp_oauth", "access_token": "x"})
    assert refused.value.param.startswith("auth")
    assert vaults.credentials.delete(made.id, vault_id=vault_id).deleted
    vaults.delete(vault_id)


def test_a_vault_of_nobody_is_not_found():
    with pytest.raises(openai.NotFoundError):
        vaults.retrieve("vault_00000000000000000000000000")
