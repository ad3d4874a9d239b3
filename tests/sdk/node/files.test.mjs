import assert from 'node:assert/strict';
import OpenAI, { toFile } from 'openai';
import { client, collect, refused, test } from './support.mjs';

const { files } = client;

const upload = (text, name, more = {}) =>
  toFile(Buffer.from(text), name).then((file) => files.create({ file, purpose: 'user_data', ...more }));

test('a file is uploaded, read back byte by byte, and deleted', async () => {
  const bytes = Buffer.alloc(3 << 20, 'not only text \u0000\r\n--boundary');
  const made = await files.create({ file: await toFile(bytes, 'notes.bin'), purpose: 'user_data' });
  assert.equal(made.filename, 'notes.bin');
  assert.equal(made.bytes, bytes.length);
  assert.equal(made.purpose, 'user_data');
  assert.deepEqual(await files.retrieve(made.id), made);
  const content = await files.content(made.id);
  assert.ok(Buffer.from(await content.arrayBuffer()).equals(bytes));
  assert.deepEqual(await files.delete(made.id), { id: made.id, deleted: true, object: 'file' });
  await refused(files.retrieve(made.id), OpenAI.NotFoundError, 404);
  await refused(files.content(made.id), OpenAI.NotFoundError, 404);
});

test('a file can expire', async () => {
  const made = await upload('soon gone', 'a.txt', { expires_after: { anchor: 'created_at', seconds: 3_600 } });
  assert.equal(made.expires_at, made.created_at + 3_600);
  const wrong = upload('x', 'a.txt', { expires_after: { anchor: 'created_at', seconds: 1 } });
  const error = await refused(wrong, OpenAI.BadRequestError, 400);
  assert.match(error.param, /^expires_after/);
});

test('files are listed page by page, by purpose, in both orders', async () => {
  const made = [];
  for (const name of ['one', 'two', 'three']) made.push((await upload(name, name, { purpose: 'vision' })).id);
  await upload('another', 'another');
  for (const order of ['asc', 'desc']) {
    const walked = await collect(files.list({ purpose: 'vision', order, limit: 2 }));
    assert.deepEqual(walked.map((file) => file.id), order === 'asc' ? made : made.toReversed());
  }
});

test('an upload without what it needs is refused', async () => {
  const error = await refused(upload('x', 'x.txt', { purpose: 'decoration' }), OpenAI.BadRequestError, 400);
  assert.equal(error.param, 'purpose');
});
