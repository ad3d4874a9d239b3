// Stands between an SDK and the daemon. It judges every answer and every event on the wire against the API's schema and order, and
// it makes the trouble that a test asks for. What it found is asked for with GET /__proxy/report; trouble is ordered with POST
// /__proxy/trouble: {"kind", "method", "path" (a regular expression), "times", …}.

import http from 'node:http';
import { Order } from './order.mjs';

const HOP_BY_HOP = new Set(['connection', 'keep-alive', 'transfer-encoding', 'host']);

/** Listens on a free port of loopback before the daemon at `port`. */
export async function startProxy({ port, judge }) {
  const proxy = new Proxy({ port, judge });
  const server = http.createServer((request, response) => {
    proxy.serve(request, response).catch((error) => {
      // The daemon or the client left, and the other one is let go, too; or the judge itself is at fault.
      const left = ['ECONNRESET', 'ECONNREFUSED', 'EPIPE', 'ERR_STREAM_PREMATURE_CLOSE'].includes(error.code);
      if (!left) proxy.report.violations.push(`the judge failed: ${error.stack}`);
      response.destroy();
    });
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { proxy, server, url: `http://127.0.0.1:${server.address().port}` };
}

class Proxy {
  report = { answers: {}, events: {}, failures: {}, violations: [] };
  #troubles = [];

  constructor({ port, judge }) {
    this.port = port;
    this.judge = judge;
  }

  async serve(request, response) {
    const { pathname } = new URL(request.url, 'http://proxy');
    if (pathname.startsWith('/__proxy/')) return this.#control(pathname, request, response);
    const trouble = this.#take(request.method, pathname);
    if (trouble?.kind === 'status') {
      // The daemon never sees it.
      request.resume();
      response.writeHead(trouble.status, { 'content-type': 'application/json', ...trouble.headers });
      const error = { message: 'trouble on the way', type: 'server_error', code: null, param: null };
      return void response.end(JSON.stringify({ error }));
    }
    const answer = await this.#ask(request);
    if (trouble?.kind === 'lost_answer') {
      // It happened, and the client is not told.
      for await (const _ of answer);
      return void response.destroy();
    }
    const headers = Object.fromEntries(Object.entries(answer.headers).filter(([name]) => !HOP_BY_HOP.has(name)));
    if (!answer.headers['x-request-id']) this.#wrong(request, pathname, 'no x-request-id');
    response.writeHead(answer.statusCode, headers);
    const type = answer.headers['content-type'] ?? '';
    if (type.startsWith('text/event-stream')) {
      // At once: clients send their input only when they have the headers.
      response.flushHeaders();
      return this.#stream({ request, pathname, answer, response, trouble });
    }
    await this.#body({ request, pathname, answer, response });
  }

  #ask(request) {
    const headers = { ...request.headers, host: `127.0.0.1:${this.port}` };
    return new Promise((resolve, reject) => {
      const { method, url } = request;
      const ask = http.request({ host: '127.0.0.1', port: this.port, method, path: url, headers }, resolve);
      ask.on('error', reject);
      request.pipe(ask);
    });
  }

  async #body({ request, pathname, answer, response }) {
    const pieces = [];
    for await (const piece of answer) {
      pieces.push(piece);
      response.write(piece);
    }
    response.end();
    if (answer.statusCode >= 400) {
      count(this.report.failures, answer.statusCode);
      const wrong = this.judge.failure(Buffer.concat(pieces).toString());
      if (wrong) this.#wrong(request, pathname, wrong);
      return;
    }
    const route = this.judge.route(request.method, pathname);
    if (!route) return this.#wrong(request, pathname, 'answered, and no route of the API');
    count(this.report.answers, `${route.method} ${route.template}`);
    const wrong = this.judge.answer(route, Buffer.concat(pieces).toString());
    if (wrong) this.#wrong(request, pathname, wrong);
  }

  async #stream({ request, pathname, answer, response, trouble }) {
    response.on('close', () => answer.destroy());
    const creation = request.method === 'POST';
    const order = new Order({ creation, whole: !request.url.includes('after=') });
    let left = '';
    let events = 0;
    try {
      for await (const piece of answer) {
        const blocks = (left + piece.toString('utf8')).split('\n\n');
        left = blocks.pop();
        for (const block of blocks) {
          // What came before reaches the client; the end of the body does not.
          if (trouble?.kind === 'cut_stream' && events === trouble.after) return void response.socket.destroySoon();
          response.write(`${block}\n\n`);
          if (this.#block({ request, pathname, order, block })) events += 1;
        }
      }
      if (left) this.#wrong(request, pathname, `the stream ends in the middle of a block: ${left}`);
    } catch (error) {
      // The daemon broke off, or the reader left.
      if (error.code !== 'ECONNRESET') throw error;
    }
    response.end();
  }

  // Whether it was an event.
  #block({ request, pathname, order, block }) {
    const lines = block.split('\n');
    if (lines.every((line) => line.startsWith(':'))) return false;
    const data = lines.filter((line) => line.startsWith('data: '));
    if (data.length !== 1 || lines.some((line) => !/^(data|event): /.test(line))) {
      this.#wrong(request, pathname, `a block that not every SDK can read: ${block}`);
      return false;
    }
    const event = JSON.parse(data[0].slice('data: '.length));
    count(this.report.events, event.type);
    const wrong = this.judge.event(event) ?? order.next(event);
    if (wrong) this.#wrong(request, pathname, wrong);
    return true;
  }

  #wrong(request, pathname, what) {
    this.report.violations.push(`${request.method} ${pathname}: ${what}`);
  }

  #take(method, pathname) {
    const at = this.#troubles.findIndex((t) => t.method === method && new RegExp(t.path).test(pathname));
    if (at < 0) return null;
    const trouble = this.#troubles[at];
    trouble.times -= 1;
    if (trouble.times === 0) this.#troubles.splice(at, 1);
    return trouble;
  }

  async #control(pathname, request, response) {
    let body = '';
    for await (const piece of request) body += piece;
    if (pathname === '/__proxy/trouble') this.#troubles.push({ times: 1, ...JSON.parse(body) });
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(this.report));
  }
}

function count(counts, name) {
  counts[name] = (counts[name] ?? 0) + 1;
}
