import assert from 'node:assert/strict';
import OpenAI, { toFile } from 'openai';
import { client, collect, idle, refused, said, session, sessions, streamed, test } from './support.mjs';

const { environments } = client.beta.agents;
const { templates } = environments;

const inline = (path, text) => ({ type: 'inline', path, data: Buffer.from(text).toString('base64') });

test('a template is created, read, changed, listed and deleted, and shows no secret', async () => {
  const made = await templates.create({
    name: 'desk',
    env: { TOKEN: 's3cret' },
    files: [inline('/workspace/notes.txt', 'hello')],
    network: { access: 'disabled' },
  });
  assert.equal(made.name, 'desk');
  assert.deepEqual(made.files, [{ type: 'inline', path: '/workspace/notes.txt', size_bytes: 5 }]);
  assert.ok(!JSON.stringify(made).includes('s3cret'));
  assert.deepEqual(await templates.retrieve(made.id), made);
  assert.equal((await templates.update(made.id, { name: 'table' })).name, 'table');
  const listed = await collect(templates.list({ limit: 1 }));
  assert.ok(listed.some((template) => template.id === made.id));
  const gone = await templates.delete(made.id);
  assert.deepEqual(gone, { id: made.id, deleted: true, object: 'agent.environment.template.deleted' });
  await refused(templates.retrieve(made.id), OpenAI.NotFoundError, 404);
});

test('files of a request, of the Files API and of a template are there when the first command runs', async () => {
  const file = await client.files.create({ file: await toFile(Buffer.from('uploaded\n'), 'u'), purpose: 'user_data' });
  const template = await templates.create({ files: [inline('/workspace/t.txt', 'of the template\n')] });
  const read = (path) => `@exec cat ${path}`;
  const own = await streamed([read('in/i.txt'), read('u.txt'), '@say read'].join('\n'), {
    environment: {
      type: 'openai_hosted',
      files: [
        inline('/workspace/in/i.txt', 'in the request\n'),
        { type: 'file_id', file_id: file.id, path: '/workspace/u.txt' },
      ],
    },
  });
  const shared = await streamed(`${read('t.txt')}\n@say read`, {
    environment: { type: 'openai_hosted', environment_template_id: template.id },
  });
  const outputs = [];
  for (const stream of [own, shared]) {
    for await (const event of stream) {
      if (event.type.endsWith('item.done') && event.item.type === 'command_execution') outputs.push(event.item.output);
    }
  }
  assert.deepEqual(outputs, ['in the request\n', 'uploaded\n', 'of the template\n']);
});

test('the files of a living environment are listed and written', async () => {
  const made = await session('@exec mkdir d && echo 1 > d/a.txt && echo 22 > b.txt\n@say written', {
    environment: { type: 'openai_hosted' },
  });
  await idle(made.id);
  const { id } = made.environment;
  const info = await environments.retrieve(id);
  assert.equal(info.id, id);
  assert.equal(info.type, 'openai_hosted');
  const listed = await collect(environments.files.list(id, { limit: 1 }));
  const sizes = Object.fromEntries(listed.map((file) => [file.path, file.size_bytes]));
  assert.equal(sizes['/workspace/d/a.txt'] ?? sizes['/workspace/b.txt'], sizes['/workspace/d/a.txt'] ? 2 : 3);

  const put = await environments.files.create(id, inline('/workspace/put.txt', 'put here'));
  assert.deepEqual(put, {
    environment_id: id,
    object: 'agent.environment.file',
    path: '/workspace/put.txt',
    size_bytes: 8,
  });
  const { environmentFile } = await environments.files.upload(id, {
    file: await toFile(Buffer.from('uploaded'), 'u.txt'),
    path: '/workspace/up.txt',
  });
  assert.equal(environmentFile.size_bytes, 8);
  const result = await sessions.stream(made.id, { input: '@exec cat put.txt up.txt\n@say read' }).finalResult();
  assert.equal(result.output_text, 'read');
  const items = await collect(sessions.items.list(made.id));
  assert.ok(items.some((item) => item.type === 'command_execution' && item.output === 'put hereuploaded'));
  assert.deepEqual(await said(made.id), ['written', 'read']);
});

test('a path that leaves the workspace is refused', async () => {
  const made = await session('@say x', { environment: { type: 'openai_hosted' } });
  await idle(made.id);
  for (const path of ['/etc/passwd', '/workspace/../x', 'x', '/workspace']) {
    const error = await refused(
      environments.files.create(made.environment.id, inline(path, 'x')),
      OpenAI.BadRequestError,
      400,
    );
    assert.equal(error.param, 'path');
  }
});
