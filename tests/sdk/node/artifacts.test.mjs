import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import OpenAI from 'openai';
import { collect, idle, refused, session, sessions, streamed, test } from './support.mjs';

const hosted = { environment: { type: 'openai_hosted' } };

test('files that a turn wrote are artifacts, byte by byte', async () => {
  const script = 'mkdir -p outputs/deep && seq 1 20000 > outputs/numbers.txt && printf "\\000\\377" > outputs/deep/bytes.bin';
  const stream = await streamed(`@exec ${script}\n@say written`, hosted);
  const result = await stream.finalResult();
  const id = result.session_id;
  const listed = await collect(sessions.artifacts.list(id, { limit: 1, order: 'asc' }));
  const paths = listed.map((artifact) => artifact.path).toSorted();
  assert.deepEqual(paths, ['/workspace/outputs/deep/bytes.bin', '/workspace/outputs/numbers.txt']);

  const numbers = listed.find((artifact) => artifact.path.endsWith('numbers.txt'));
  const of = { session_id: id };
  assert.deepEqual(await sessions.artifacts.retrieve(numbers.id, of), numbers);
  const content = await sessions.artifacts.content(numbers.id, of);
  const bytes = Buffer.from(await content.arrayBuffer());
  assert.equal(bytes.length, numbers.size_bytes);
  const wanted = Array.from({ length: 20000 }, (_, at) => `${at + 1}\n`).join('');
  const digest = (data) => createHash('sha256').update(data).digest('hex');
  assert.equal(digest(bytes), digest(wanted));

  // The helper finds a Turn's artifact by its path.
  const found = await sessions.artifacts.forResult(result).content('/workspace/outputs/deep/bytes.bin');
  assert.deepEqual([...new Uint8Array(await found.arrayBuffer())], [0, 255]);
});

test('artifacts are told apart by their turn', async () => {
  const first = await (await streamed('@exec mkdir -p outputs && echo 1 > outputs/a.txt\n@say one', hosted)).finalResult();
  const id = first.session_id;
  const second = await sessions.stream(id, { input: '@exec echo 22 > outputs/a.txt\n@say two' }).finalResult();
  for (const [result, wanted] of [
    [first, '1\n'],
    [second, '22\n'],
  ]) {
    const content = await sessions.artifacts.forResult(result).content('/workspace/outputs/a.txt');
    assert.equal(await content.text(), wanted);
  }
});

test('an artifact is deleted, and the others stay', async () => {
  const write = '@exec mkdir -p outputs && echo same | tee outputs/a.txt > outputs/b.txt\n@say written';
  const { session_id } = await (await streamed(write, hosted)).finalResult();
  const listed = await collect(sessions.artifacts.list(session_id, { order: 'asc' }));
  const [first, second] = listed;
  const gone = await sessions.artifacts.delete(first.id, { session_id });
  assert.deepEqual(gone, { id: first.id, deleted: true, object: 'agent.session.artifact.deleted' });
  assert.deepEqual(await collect(sessions.artifacts.list(session_id)), [second]);
  await refused(sessions.artifacts.retrieve(first.id, { session_id }), OpenAI.NotFoundError, 404);
  // Its bytes are those of the one that stays.
  assert.equal(await (await sessions.artifacts.content(second.id, { session_id })).text(), 'same\n');
});

test('commands are items with their output, as it is written and as it ended', async () => {
  const stream = await streamed('@exec echo out; exit 3\n@say ran', hosted);
  const events = await collect(stream);
  const done = events.find((event) => event.type.endsWith('item.done') && event.item.type === 'command_execution');
  assert.equal(done.item.exit_code, 3);
  assert.equal(done.item.status, 'failed');
  assert.equal(done.item.output, 'out\n');
});

test('an artifact of nobody is not found', async () => {
  const made = await session('@say x', hosted);
  await idle(made.id);
  const ask = sessions.artifacts.content('art_00000000000000000000000000', { session_id: made.id });
  await refused(ask, OpenAI.NotFoundError, 404);
});
