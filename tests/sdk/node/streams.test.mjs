import assert from 'node:assert/strict';
import { AgentTurnResultError } from 'openai/lib/beta/agents/agent-turn-result-error';
import { collect, idle, said, session, sessions, streamed, test, tool, trouble, types, until } from './support.mjs';

const message = (text) => ({
  type: 'agent.session.input.message',
  input: [{ role: 'user', content: [{ type: 'input_text', text }] }],
});

test('a creation that streams tells its first turn from beginning to end', async () => {
  const stream = await streamed('@reason think\n@say first\n@slow 1 second and last');
  const events = await collect(stream);
  const seen = types(events);
  assert.equal(seen[0], 'created');
  assert.ok(seen.indexOf('turn.created') < seen.indexOf('turn.item.added'));
  assert.deepEqual(seen.slice(-2), ['turn.completed', 'idle']);
  const done = events.filter((event) => event.type === 'agent.session.turn.item.done').map((event) => event.item);
  assert.deepEqual(done.map((item) => item.type), ['reasoning', 'message', 'message']);
  const deltas = events.filter((event) => event.type === 'agent.session.turn.output_text.delta');
  const last = deltas.filter((event) => event.item_id === done[2].id);
  // Some may be missing, from one on.
  assert.ok('second and last'.startsWith(last.map((event) => event.delta).join('')));
});

test('a creation that streams collects its result', async () => {
  const stream = await streamed('@say commentary\n@say the answer');
  const result = await stream.finalResult();
  assert.equal(result.output_text, 'the answer');
  assert.equal(result.turn.status, 'completed');
});

test('tool handlers of a creation answer the calls', async () => {
  const stream = await streamed('@call add {"a": 2, "b": 3}\n@say added', {
    agent: { model: 'demo', tools: [tool('add')] },
    toolHandlers: { add: ({ a, b }) => ({ sum: a + b }) },
  });
  const result = await stream.finalResult();
  assert.equal(result.output_text, 'added');
  const items = await collect(sessions.items.list(result.session_id, { order: 'asc' }));
  const output = items.find((item) => item.type === 'function_call_output');
  assert.deepEqual(JSON.parse(output.output), { sum: 5 });
  assert.equal(output.status, 'completed');
});

test('the helper for one turn subscribes, sends, answers calls and ends', async () => {
  const made = await session('@say ready', { agent: { model: 'demo', tools: [tool('double'), tool('never')] } });
  await idle(made.id);
  const called = [];
  const stream = sessions.stream(made.id, {
    input: '@call double {"n": 4}\n@call double {"n": 5}\n@say all doubled',
    toolHandlers: {
      double: async ({ n }) => {
        called.push(n);
        return `${2 * n}`;
      },
    },
  });
  const result = await stream.finalResult();
  assert.equal(result.output_text, 'all doubled');
  assert.deepEqual(called, [4, 5]);
  // The same again: a helper is for one turn.
  const again = await sessions.stream(made.id, { input: '@say once more' }).finalResult();
  assert.equal(again.output_text, 'once more');
});

test('a handler that throws is a failed call, and the turn goes on', async () => {
  const made = await session('@say ready', { agent: { model: 'demo', tools: [tool('broken')] } });
  await idle(made.id);
  const failures = [];
  const stream = sessions.stream(made.id, {
    input: '@call broken {}\n@say went on',
    toolHandlers: {
      broken: () => {
        throw new Error('a secret of the client');
      },
    },
    onToolError: (failure) => void failures.push(failure),
  });
  const result = await stream.finalResult();
  assert.equal(result.output_text, 'went on');
  assert.equal(failures.length, 1);
  const items = await collect(sessions.items.list(made.id));
  const output = items.find((item) => item.type === 'function_call_output');
  assert.equal(output.status, 'failed');
  assert.ok(!JSON.stringify(items).includes('a secret of the client'));
});

test('a call without a handler is a required action, in every snapshot of the session', async () => {
  const made = await session('@say ready', { agent: { model: 'demo', tools: [tool('ask')] } });
  await idle(made.id);
  const stream = sessions.stream(made.id, { input: '@call ask {"who": "you"}\n@say thanks' });
  const error = await stream.finalResult().catch((error) => error);
  assert.ok(error instanceof AgentTurnResultError, String(error));
  assert.equal(error.reason, 'requires_action');
  const now = await until(made.id, (now) => now.status === 'requires_action');
  const [action] = now.required_actions;
  assert.deepEqual(error.required_actions, now.required_actions);
  assert.equal(action.type, 'function_call');
  assert.deepEqual(action.arguments, { who: 'you' });
  const result = { type: 'agent.session.input.tool_result', turn_id: action.turn_id, call_id: action.call_id };
  await sessions.events.create(made.id, { events: [{ ...result, success: true, output: 'me' }] });
  await idle(made.id);
  assert.deepEqual(await said(made.id), ['ready', 'thanks']);
});

test('a turn that fails says so, and the session is usable', async () => {
  const stream = await streamed('@fail rate_limit_exceeded slow down');
  const error = await stream.finalResult().catch((error) => error);
  assert.ok(error instanceof AgentTurnResultError, String(error));
  assert.equal(error.reason, 'failed');
  assert.equal(error.turn.error.code, 'rate_limit_exceeded');
  const result = await sessions.stream(error.session_id, { input: '@say better' }).finalResult();
  assert.equal(result.output_text, 'better');
});

test('input into a running turn steers it, and no second turn begins', async () => {
  const made = await session('@say ready');
  await idle(made.id);
  const stream = await sessions.events.stream(made.id);
  await sessions.events.create(made.id, { events: [message('@slow 40 one two three four five six seven eight nine ten')] });
  const seen = [];
  for await (const event of stream) {
    seen.push(event);
    if (event.type === 'agent.session.turn.in_progress') {
      await sessions.events.create(made.id, { events: [message('@say steered')] });
    }
    if (event.type === 'agent.session.idle') break;
  }
  assert.equal(seen.filter((event) => event.type === 'agent.session.turn.created').length, 1);
  const texts = await said(made.id);
  assert.equal(texts.at(-1), 'steered');
  assert.equal((await collect(sessions.turns.list(made.id))).length, 2);
});

test('a cancel stops the active turn, and the next one runs', async () => {
  const made = await session('@say ready');
  await idle(made.id);
  const helper = sessions.stream(made.id, { input: '@sleep 60000\n@say too late' });
  const seen = [];
  for await (const event of helper) {
    seen.push(event);
    if (event.type === 'agent.session.turn.in_progress') {
      await sessions.events.create(made.id, { events: [{ type: 'agent.session.input.cancel' }] });
    }
  }
  assert.deepEqual(types(seen).slice(-2), ['turn.cancelled', 'idle']);
  const turns = await collect(sessions.turns.list(made.id));
  assert.equal(turns[0].status, 'cancelled');
  assert.equal((await sessions.stream(made.id, { input: '@say next' }).finalResult()).output_text, 'next');
});

test('leaving a stream cancels nothing', async () => {
  const stream = await streamed('@slow 5 a b c d e f');
  let id;
  for await (const event of stream) {
    if (event.type === 'agent.session.created') id = event.session.id;
    if (event.type === 'agent.session.turn.output_text.delta') break;
  }
  await idle(id);
  assert.deepEqual(await said(id), ['a b c d e f']);
});

test('padding is there unless it is not wanted', async () => {
  const padded = await collect(await streamed('@say x'));
  assert.ok(padded.every((event) => event.obfuscation.length > 0));
  const plain = await collect(await streamed('@say x', { stream_options: { include_obfuscation: false } }));
  assert.ok(plain.every((event) => event.obfuscation === undefined));
});

test('two clients follow one session and see the same', async () => {
  const made = await session('@say ready');
  await idle(made.id);
  const follow = async (stream) => {
    const seen = [];
    for await (const event of stream) {
      if (!event.type.endsWith('.delta')) seen.push(event);
      if (event.type === 'agent.session.idle') return seen;
    }
    return assert.fail('the stream ended');
  };
  const open = () => sessions.events.stream(made.id, { include_obfuscation: false }, {});
  // Both have their headers before there is anything to see.
  const streams = [await open(), await open()];
  const both = streams.map(follow);
  await sessions.events.create(made.id, { events: [message('@say to both')] });
  const seen = await Promise.all(both);
  // What is summed up may already be more for the one who looked later.
  const [one, other] = seen.map((events) => events.map(({ event_id, type }) => `${type} ${event_id}`));
  assert.deepEqual(one, other);
  assert.ok(one.length >= 5);
});

test('two clients that create and talk at once do not disturb each other', async () => {
  const talk = async (name) => {
    const first = await streamed(`@say hello from ${name}`);
    const { session_id: id } = await first.finalResult();
    for (const at of [1, 2, 3]) {
      const result = await sessions.stream(id, { input: `@say ${name} ${at}` }).finalResult();
      assert.equal(result.output_text, `${name} ${at}`);
    }
    return said(id);
  };
  const names = ['ann', 'bob', 'cy', 'di'];
  const all = await Promise.all(names.map(talk));
  assert.deepEqual(all, names.map((name) => [`hello from ${name}`, ...[1, 2, 3].map((at) => `${name} ${at}`)]));
});

test('a stream that is cut goes on behind the last event, with nothing lost and nothing twice', async () => {
  const made = await session('@say ready');
  await idle(made.id);
  const path = `^/v1/agents/sessions/${made.id}/events$`;
  await trouble({ kind: 'cut_stream', method: 'GET', path, after: 3, times: 2 });
  const durable = (event) => !event.type.endsWith('.delta');
  const seen = [];
  let cuts = 0;
  let sent = false;
  for (;;) {
    const after = seen.filter(durable).at(-1)?.event_id;
    const stream = await sessions.events.stream(made.id, {}, after ? { query: { after } } : {});
    if (!sent) await sessions.events.create(made.id, { events: [message('@say one\n@say two\n@say three')] });
    sent = true;
    try {
      for await (const event of stream) {
        seen.push(event);
        if (event.type === 'agent.session.idle') break;
      }
    } catch {
      cuts += 1;
    }
    if (seen.at(-1)?.type === 'agent.session.idle') break;
    assert.ok(cuts < 10, 'it never gets through');
  }
  assert.equal(cuts, 2);
  const ids = seen.filter(durable).map((event) => event.event_id);
  assert.equal(new Set(ids).size, ids.length);
  const texts = seen.filter((event) => event.type === 'agent.session.turn.item.done');
  assert.deepEqual(texts.map((event) => event.item.content[0].text), ['one', 'two', 'three']);
});

test('a stream that is cut where nothing is replayed breaks the helper, and the turn goes on', async () => {
  const made = await session('@say ready');
  await idle(made.id);
  await trouble({ kind: 'cut_stream', method: 'GET', path: `${made.id}/events$`, after: 2 });
  await assert.rejects(sessions.stream(made.id, { input: '@say kept' }).finalResult());
  await idle(made.id);
  assert.deepEqual(await said(made.id), ['ready', 'kept']);
});
