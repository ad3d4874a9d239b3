import assert from 'node:assert/strict';
import OpenAI from 'openai';
import { client, collect, refused, test } from './support.mjs';

const { vaults } = client.beta.agents;
const bearer = (token) => ({ type: 'static_bearer', token, mcp_server_url: 'https://tools.example/mcp' });

test('a vault is created, read, changed, listed and deleted', async () => {
  const made = await vaults.create({ name: 'keys', metadata: { of: 'tests' } });
  assert.equal(made.name, 'keys');
  assert.deepEqual(await vaults.retrieve(made.id), made);
  assert.deepEqual((await vaults.update(made.id, { metadata: { of: 'nobody' } })).metadata, { of: 'nobody' });
  assert.equal((await vaults.update(made.id, { name: null })).name, null);
  const listed = await collect(vaults.list({ metadata: { of: 'nobody' }, status: ['active', 'archived'] }));
  assert.deepEqual(listed.map((vault) => vault.id), [made.id]);
  assert.deepEqual(await vaults.delete(made.id), { id: made.id, deleted: true, object: 'vault.deleted' });
  await refused(vaults.retrieve(made.id), OpenAI.NotFoundError, 404);
});

test('what a credential holds is never shown', async () => {
  const { id: vault_id } = await vaults.create();
  const made = await vaults.credentials.create(vault_id, { name: ' tools ', auth: bearer('s3cret-token') });
  assert.equal(made.name, 'tools');
  assert.deepEqual(made.auth, { type: 'static_bearer', mcp_server_url: 'https://tools.example/mcp' });
  const changed = await vaults.credentials.update(made.id, {
    vault_id,
    auth: { type: 'static_bearer', token: 'an0ther-token' },
  });
  const all = [
    made,
    changed,
    await vaults.credentials.retrieve(made.id, { vault_id }),
    ...(await collect(vaults.credentials.list(vault_id, { limit: 1 }))),
  ];
  assert.equal(all.length, 4);
  assert.ok(!/s3cret|an0ther/.test(JSON.stringify(all)));
  const other = vaults.credentials.update(made.id, { vault_id, auth: { type: 'mcp_oauth', access_token: 'x' } });
  const error = await refused(other, OpenAI.BadRequestError, 400);
  assert.match(error.param, /^auth/);
  const gone = await vaults.credentials.delete(made.id, { vault_id });
  assert.deepEqual(gone, { id: made.id, deleted: true, object: 'vault.credential.deleted' });
  await vaults.delete(vault_id);
});

test('a vault of nobody is not found', async () => {
  const id = 'vault_00000000000000000000000000';
  await refused(vaults.retrieve(id), OpenAI.NotFoundError, 404);
  await refused(vaults.credentials.create(id, { name: 'x', auth: bearer('x') }), OpenAI.NotFoundError, 404);
  await refused(vaults.credentials.list(id), OpenAI.NotFoundError, 404);
});
