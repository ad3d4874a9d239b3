import assert from 'node:assert/strict';
import OpenAI from 'openai';
import { agents, collect, idle, refused, said, session, sessions, test, tool, until } from './support.mjs';

test('a session runs its first turn and is read back', async () => {
  const made = await session('@say hello', { metadata: { run: 'first' } });
  assert.match(made.id, /^sess_/);
  const done = await idle(made.id);
  assert.equal(done.error, null);
  assert.deepEqual(done.metadata, { run: 'first' });
  assert.deepEqual(await said(made.id), ['hello']);

  const turns = await collect(sessions.turns.list(made.id));
  assert.equal(turns.length, 1);
  assert.equal(turns[0].status, 'completed');
  assert.ok(turns[0].usage.total_tokens > 0);
  assert.deepEqual(await sessions.turns.retrieve(turns[0].id, { session_id: made.id }), turns[0]);
  assert.deepEqual(await collect(sessions.traces.list(made.id)), []);
  assert.deepEqual(await collect(sessions.subagents.list(made.id)), []);
});

test('a session keeps its agent as it was', async () => {
  const agent = await agents.create({ model: 'demo', instructions: 'before' });
  const made = await sessions.create({ agent_id: agent.id, environment: { type: 'none' }, input: '@say x' });
  await agents.update(agent.id, { instructions: 'after' });
  const now = await sessions.retrieve(made.id);
  assert.equal(now.agent.id, agent.id);
  assert.equal(now.agent.instructions, 'before');
  const listed = await collect(sessions.list({ agent_id: agent.id }));
  assert.deepEqual(listed.map((one) => one.id), [made.id]);
});

test('a session is changed and deleted', async () => {
  const made = await session('@say x');
  await idle(made.id);
  const changed = await sessions.update(made.id, { metadata: { state: 'kept' } });
  assert.deepEqual(changed.metadata, { state: 'kept' });
  const gone = await sessions.delete(made.id);
  assert.deepEqual(gone, { id: made.id, deleted: true, object: 'agent.session.deleted' });
  await refused(sessions.retrieve(made.id), OpenAI.NotFoundError, 404);
  await refused(sessions.items.list(made.id), OpenAI.NotFoundError, 404);
});

test('lists go page by page, in both orders, over every kind of page', async () => {
  const metadata = { walk: 'pages & more' };
  const made = [];
  for (const at of [1, 2, 3, 4, 5]) made.push((await session(`@say first of ${at}`, { metadata })).id);
  for (const order of ['asc', 'desc']) {
    const walked = (await collect(sessions.list({ metadata, order, limit: 2 }))).map((one) => one.id);
    assert.deepEqual(walked, order === 'asc' ? made : made.toReversed());
  }

  const [id] = made;
  await idle(id);
  for (const at of [2, 3, 4]) {
    await sessions.events.create(id, {
      events: [{ type: 'agent.session.input.message', input: [user(`@say a${at}\n@say b${at}`)] }],
    });
    await until(id, (now) => now.status === 'idle');
  }
  for (const order of ['asc', 'desc']) {
    const turns = await collect(sessions.turns.list(id, { order, limit: 3 }));
    assert.equal(turns.length, 4);
    const times = turns.map((turn) => turn.created_at);
    assert.deepEqual(times, times.toSorted((a, b) => (order === 'asc' ? a - b : b - a)));

    const items = await collect(sessions.items.list(id, { order, limit: 2 }));
    const whole = await collect(sessions.items.list(id, { order, limit: 100 }));
    assert.deepEqual(items, whole);
    assert.equal(items.length, 2 + 3 * 3);

    // The one kind of page that goes on behind its own `last_id`.
    const last = turns[order === 'asc' ? 3 : 0];
    const own = await collect(sessions.turns.items.list(last.id, { session_id: id, order, limit: 1 }));
    const texts = own.map((item) => item.content[0].text);
    const inOrder = ['@say a4\n@say b4', 'a4', 'b4'];
    assert.deepEqual(texts, order === 'asc' ? inOrder : inOrder.toReversed());
  }
});

function user(text) {
  return { role: 'user', content: [{ type: 'input_text', text }] };
}

test('a session without what it needs is refused, and nothing is left of it', async () => {
  const metadata = { refused: 'session' };
  const bodies = [
    [{ agent: { model: 'demo' }, input: 'x', metadata }, 'environment'],
    [{ agent: { model: 'demo' }, environment: { type: 'none' }, metadata }, 'input'],
    [{ agent: {}, environment: { type: 'none' }, input: 'x', metadata }, 'agent.model'],
    [{ agent: { model: 'demo' }, environment: { type: 'moon' }, input: 'x', metadata }, 'environment.type'],
    [{ agent: { model: 'demo', tools: [tool('')] }, environment: { type: 'none' }, input: 'x', metadata }, 'agent.tools[0].name'],
  ];
  for (const [body, param] of bodies) {
    const error = await refused(sessions.create(body), OpenAI.BadRequestError, 400);
    assert.equal(error.param, param, error.message);
  }
  assert.deepEqual(await collect(sessions.list({ metadata })), []);
});
