import assert from 'node:assert/strict';
import OpenAI from 'openai';
import { agents, collect, refused, test, tool } from './support.mjs';

test('an agent is created, read, changed and deleted', async () => {
  const made = await agents.create({
    model: 'demo',
    name: 'clerk',
    instructions: 'Be brief.',
    metadata: { team: 'a b/c' },
    tools: [tool('lookup')],
  });
  assert.match(made.id, /^agent_/);
  assert.deepEqual(made.metadata, { team: 'a b/c' });
  assert.equal(made.tools[0].name, 'lookup');
  assert.deepEqual(await agents.retrieve(made.id), made);

  const changed = await agents.update(made.id, { name: null, metadata: { team: 'b' } });
  assert.equal(changed.name, null);
  assert.equal(changed.instructions, 'Be brief.');
  assert.deepEqual(changed.metadata, { team: 'b' });
  assert.deepEqual((await agents.update(made.id)).metadata, { team: 'b' });

  const gone = await agents.delete(made.id);
  assert.deepEqual(gone, { id: made.id, deleted: true, object: 'agent.deleted' });
  await refused(agents.retrieve(made.id), OpenAI.NotFoundError, 404);
});

test('agents are listed page by page, in both orders', async () => {
  const made = [];
  for (const name of ['one', 'two', 'three', 'four', 'five']) {
    made.push((await agents.create({ model: 'demo', name })).id);
  }
  for (const order of ['asc', 'desc']) {
    const walked = await collect(agents.list({ order, limit: 2 }));
    const ours = walked.map((agent) => agent.id).filter((id) => made.includes(id));
    assert.deepEqual(ours, order === 'asc' ? made : made.toReversed());
  }
  // Nothing means the default, as an explicit null does.
  const page = await agents.list({ limit: undefined, after: null });
  assert.equal(page.data[0].id, made.at(-1));
  for (const id of made) await agents.delete(id);
});

test('bodies are read strictly, and errors name what is wrong', async () => {
  const unknown = await refused(agents.create({ model: 'demo', colour: 'red' }), OpenAI.BadRequestError, 400);
  assert.equal(unknown.code, 'invalid_request_error');
  assert.equal(unknown.param, 'colour');
  const typed = await refused(agents.create({ model: 7 }), OpenAI.BadRequestError, 400);
  assert.equal(typed.param, 'model');
  const missing = await refused(agents.create({}), OpenAI.BadRequestError, 400);
  assert.equal(missing.param, 'model');
  const limit = await refused(agents.list({ limit: 101 }), OpenAI.BadRequestError, 400);
  assert.equal(limit.param, 'limit');
});

test('without a good key there is nothing', async () => {
  const stranger = new OpenAI({ apiKey: 'rtk_of_nobody' });
  const error = await refused(stranger.beta.agents.list(), OpenAI.AuthenticationError, 401);
  assert.equal(error.code, 'unauthorized');
});

test('without the right beta header there is nothing', async () => {
  const headers = { 'OpenAI-Beta': 'agents=v0' };
  const error = await refused(agents.list({}, { headers }), OpenAI.BadRequestError, 400);
  assert.equal(error.code, 'invalid_beta');
});
