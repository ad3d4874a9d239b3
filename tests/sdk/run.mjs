// For each SDK: a daemon with data of its own, a judge before it, and the SDK's tests against that. Both at the same time.

import { execFileSync, spawn } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { startProxy } from './proxy.mjs';
import { Judge } from './schema.mjs';

const [home, program, only] = process.argv.slice(2);
const SERVES_WITHIN_MS = 60_000;
const DONE_WITHIN_MS = 400_000;
const SUITES = {
  node: {
    words: [process.execPath, '--test', '--test-concurrency=1', '--test-reporter=spec'],
    tests: () => files('node', '.test.mjs'),
  },
  python: {
    words: [
      ...[path.join(home, 'venv/bin/python'), '-m', 'pytest', '-q', '--tb=short', '--color=no', '--durations=3'],
      ...['-p', 'no:cacheprovider', '-o', 'faulthandler_timeout=120', '-o', 'faulthandler_exit_on_timeout=true'],
    ],
    tests: () => [path.join(home, 'tests/python')],
  },
};

function files(folder, end) {
  const at = path.join(home, 'tests', folder);
  return fs
    .readdirSync(at)
    .filter((name) => name.endsWith(end))
    .sort()
    .map((name) => path.join(at, name));
}

// Whatever the tester's own settings are, they are not those of the tests.
function environment(place) {
  const own = Object.entries(process.env).filter(([name]) => !/^(RAT_THINGS_|OPENAI_|XDG_)|_proxy$/i.test(name));
  return {
    ...Object.fromEntries(own),
    HOME: place,
    RAT_THINGS_DATA_DIR: path.join(place, 'data'),
    RAT_THINGS_CONFIG_DIR: path.join(place, 'config'),
    PYTHONDONTWRITEBYTECODE: '1',
  };
}

function ask(env, ...words) {
  const talk = ['ignore', 'pipe', 'ignore'];
  return JSON.parse(execFileSync(program, [...words, '-o', 'json'], { env, encoding: 'utf8', stdio: talk }));
}

// The daemon's address, once it serves.
async function serves(env, daemon) {
  const until = Date.now() + SERVES_WITHIN_MS;
  while (Date.now() < until && daemon.exitCode === null) {
    const { listen } = ask(env, 'daemon', 'status');
    if (listen) return new URL(listen);
    await wait(50);
  }
  throw new Error('the daemon does not serve');
}

async function ended(child, within) {
  const end = new Promise((resolve) => child.on('close', resolve));
  const late = wait(within, 'late', { ref: false });
  return Promise.race([end, late]);
}

async function suite(name, judge) {
  const place = fs.mkdtempSync(path.join(os.tmpdir(), `rat-things-sdk-${name}-`));
  const env = environment(place);
  const { key } = ask(env, 'keys', 'create', '--name', name, '--rate', '100000');
  const { key: reader } = ask(env, 'keys', 'create', '--name', 'reader', '--scope', 'api.agents.read');
  const { key: slow } = ask(env, 'keys', 'create', '--name', 'slow', '--rate', '1');
  const log = fs.openSync(path.join(place, 'daemon.log'), 'w');
  const daemon = spawn(program, ['daemon', 'run', '--listen', '127.0.0.1:0'], { env, stdio: ['ignore', 'ignore', log] });
  let front;
  try {
    const { port } = await serves(env, daemon);
    front = await startProxy({ port, judge });
    const { words, tests } = SUITES[name];
    const [first, ...rest] = [...words, ...tests()];
    const suiteEnv = {
      ...env,
      OPENAI_API_KEY: key,
      // One that may only read, and one that may ask once a second.
      READER_KEY: reader,
      SLOW_KEY: slow,
      OPENAI_BASE_URL: `${front.url}/v1`,
      // For what no judge may stand before.
      DAEMON_URL: `http://127.0.0.1:${port}`,
    };
    const child = spawn(first, rest, { env: suiteEnv, stdio: ['ignore', 'pipe', 'pipe'] });
    let said = '';
    for (const out of [child.stdout, child.stderr]) out.on('data', (piece) => (said += piece));
    const code = await ended(child, DONE_WITHIN_MS);
    if (code === 'late') child.kill('SIGKILL');
    const { report } = front.proxy;
    const good = code === 0 && report.violations.length === 0;
    return { name, good, code, said, report, log: warnings(path.join(place, 'daemon.log')) };
  } finally {
    front?.server.close();
    front?.server.closeAllConnections();
    try {
      ask(env, 'daemon', 'stop');
    } catch {
      daemon.kill('SIGKILL');
    }
    await ended(daemon, 10_000);
    daemon.kill('SIGKILL');
    fs.rmSync(place, { recursive: true, force: true });
  }
}

function warnings(file) {
  const lines = fs.readFileSync(file, 'utf8').split('\n');
  return lines.filter((line) => line && !/ (INFO|DEBUG) /.test(line)).slice(-40).join('\n');
}

function sum(counts) {
  return Object.values(counts).reduce((all, count) => all + count, 0);
}

const judge = new Judge(home);
judge.bites();
const names = only ? [only] : Object.keys(SUITES);
const results = await Promise.all(names.map((name) => suite(name, judge)));
for (const { name, good, code, said, report, log } of results) {
  console.log(`\n== The ${name} SDK\n${said.trimEnd()}`);
  const types = Object.keys(report.events);
  console.log(
    `judged: ${sum(report.answers)} answers of ${Object.keys(report.answers).length} routes, ${sum(report.failures)} failures, ` +
      `${sum(report.events)} events of ${types.length} of ${judge.eventTypes()} types; ${report.violations.length} wrong`,
  );
  for (const violation of report.violations.slice(0, 20)) console.log(`  wrong: ${violation}`);
  if (process.env.SDK_REPORT) console.log(JSON.stringify(report, null, 1));
  if (code !== 0) console.log(`-- it ended with ${code}; what the daemon warned of:\n${log}`);
}
process.exitCode = results.every(({ good }) => good) ? 0 : 1;
