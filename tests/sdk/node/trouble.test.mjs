import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import OpenAI from 'openai';
import { agents, collect, idle, refused, said, session, sessions, test, tool, trouble, until } from './support.mjs';

const message = (text) => ({
  type: 'agent.session.input.message',
  input: [{ role: 'user', content: [{ type: 'input_text', text }] }],
});

test('a server that fails twice is asked a third time', async () => {
  await trouble({ kind: 'status', status: 503, method: 'GET', path: '^/v1/agents$', times: 2, headers: { 'retry-after-ms': '1' } });
  assert.ok(Array.isArray((await agents.list()).data));
});

test('an input whose answer was lost twice is there once', async () => {
  const made = await session('@say ready');
  await idle(made.id);
  await trouble({ kind: 'lost_answer', method: 'POST', path: `${made.id}/events$`, times: 2 });
  const params = { events: [message('@say exactly once')], 'Idempotency-Key': randomUUID() };
  await sessions.events.create(made.id, params);
  await idle(made.id);
  assert.deepEqual(await said(made.id), ['ready', 'exactly once']);
});

test('a session whose creation was answered into nothing is there once', async () => {
  const metadata = { lost: randomUUID() };
  await trouble({ kind: 'lost_answer', method: 'POST', path: '/agents/sessions$', times: 2 });
  const body = { agent: { model: 'demo' }, environment: { type: 'none' }, input: '@say once', metadata };
  const made = await sessions.create(body, { headers: { 'Idempotency-Key': randomUUID() } });
  const listed = await collect(sessions.list({ metadata }));
  assert.deepEqual(listed.map((one) => one.id), [made.id]);
});

test('the same key with another body is a conflict that nobody repeats', async () => {
  const made = await session('@say ready');
  await idle(made.id);
  const key = randomUUID();
  await sessions.events.create(made.id, { events: [message('@say a')], 'Idempotency-Key': key });
  const again = sessions.events.create(made.id, { events: [message('@say b')], 'Idempotency-Key': key });
  const error = await refused(again, OpenAI.ConflictError, 409);
  assert.equal(error.headers.get('x-should-retry'), 'false');
});

test('a result for a call that nobody made is refused in the words that helpers wait for', async () => {
  const made = await session('@say ready', { agent: { model: 'demo', tools: [tool('ask')] } });
  await idle(made.id);
  await sessions.events.create(made.id, { events: [message('@call ask {}\n@say thanks')] });
  const now = await until(made.id, (now) => now.status === 'requires_action');
  const [{ turn_id, call_id }] = now.required_actions;
  const result = { type: 'agent.session.input.tool_result', turn_id, success: true, output: 'x' };
  const wrong = sessions.events.create(made.id, { events: [{ ...result, call_id: 'call_of_nobody' }] });
  const error = await refused(wrong, OpenAI.BadRequestError, 400);
  assert.equal(error.code, 'invalid_request_error');
  assert.equal(error.error.message, 'Unknown pending tool call: call_of_nobody');

  // A refusal is not remembered under its key: the helpers send the same body under the same key again.
  const key = randomUUID();
  const good = { events: [{ ...result, call_id }], 'Idempotency-Key': key };
  await sessions.events.create(made.id, good);
  await sessions.events.create(made.id, good);
  await idle(made.id);
  assert.deepEqual(await said(made.id), ['ready', 'thanks']);
});

test('a batch is taken whole or not at all', async () => {
  const made = await session('@say ready');
  await idle(made.id);
  const result = { type: 'agent.session.input.tool_result', turn_id: 'turn_x', call_id: 'call_x', success: true };
  await refused(
    sessions.events.create(made.id, { events: [message('@say never'), result] }),
    OpenAI.BadRequestError,
    400,
  );
  assert.deepEqual(await said(made.id), ['ready']);
});

test('an id of nothing is not found, on every route', async () => {
  const id = 'sess_00000000000000000000000000';
  const of = { session_id: id };
  for (const ask of [
    () => sessions.retrieve(id),
    () => sessions.update(id, {}),
    () => sessions.delete(id),
    () => sessions.items.list(id),
    () => sessions.turns.list(id),
    () => sessions.turns.retrieve('turn_x', of),
    () => sessions.turns.items.list('turn_x', of),
    () => sessions.artifacts.list(id),
    () => sessions.artifacts.content('art_x', of),
    () => sessions.events.stream(id),
    () => sessions.events.create(id, { events: [message('x')] }),
    () => agents.retrieve('agent_x'),
  ]) {
    const error = await refused(ask(), OpenAI.NotFoundError, 404);
    assert.equal(error.code, 'not_found_error');
  }
});

test('what a key is not for is denied', async () => {
  const reader = new OpenAI({ apiKey: process.env.READER_KEY }).beta.agents;
  assert.ok(Array.isArray((await reader.list()).data));
  const error = await refused(reader.create({ model: 'demo' }), OpenAI.PermissionDeniedError, 403);
  assert.equal(error.code, 'forbidden');
});

test('who asks too often is told when to come back, and comes back', async () => {
  const apiKey = process.env.SLOW_KEY;
  const hasty = new OpenAI({ apiKey, maxRetries: 0 }).beta.agents;
  const asked = await Promise.allSettled(Array.from({ length: 6 }, () => hasty.list()));
  const late = asked.filter((one) => one.status === 'rejected').map((one) => one.reason);
  assert.ok(late.length >= 1);
  for (const error of late) {
    assert.ok(error instanceof OpenAI.RateLimitError);
    assert.equal(error.code, 'rate_limit_exceeded');
    assert.ok(Number(error.headers.get('retry-after-ms')) > 0);
  }
  const patient = new OpenAI({ apiKey }).beta.agents;
  assert.ok(Array.isArray((await patient.list()).data));
});

test('a server that goes on failing is an error of its own', async () => {
  await trouble({ kind: 'status', status: 500, method: 'GET', path: '^/v1/agents$', times: 1 });
  const once = new OpenAI({ maxRetries: 0 }).beta.agents;
  await assert.rejects(once.list(), OpenAI.InternalServerError);
});

test('what cannot be reached is a connection error', async () => {
  const nowhere = new OpenAI({ baseURL: 'http://127.0.0.1:9/v1', maxRetries: 0 });
  await assert.rejects(nowhere.beta.agents.list(), OpenAI.APIConnectionError);
});
