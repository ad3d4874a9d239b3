// What the drivers in JavaScript have in common: they read jobs and answer them.
"use strict";
const { readFileSync } = require("node:fs");
const path = require("node:path");
const readline = require("node:readline");

// A thousand bytes, which is a usual message.
const THOUSAND = "Please look at the log of last night and say what went wrong there, and why. "
  .repeat(13)
  .slice(0, 1000);

// What a Turn of ours is asked for.
const SHORT = "@exec ls -l\n@say done";

function say(line) {
  process.stdout.write(`${JSON.stringify(line)}\n`);
}

// So many clients do `once` again and again for so many seconds.
async function load(once, clients, seconds) {
  const latencies = [];
  const begun = performance.now();
  const until = begun + seconds * 1000;
  const client = async () => {
    while (performance.now() < until) {
      const before = performance.now();
      await once();
      latencies.push(performance.now() - before);
    }
  };
  await Promise.all(Array.from({ length: clients }, client));
  const elapsed = (performance.now() - begun) / 1000;
  latencies.sort((a, b) => a - b);
  const at = (part) => 1000 * latencies[Math.round(part * (latencies.length - 1))];
  const count = latencies.length;
  return { count, rate: count / elapsed, p50_us: at(0.5), p99_us: at(0.99) };
}

// Answers jobs until there are no more. `doing(what, clients)` answers what one client does again and again, and what to do afterwards.
async function serve(doing) {
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const [what, clients, seconds] = line.split(" ");
    const { once, end } = await doing(what, Number(clients));
    say(await load(once, Number(clients), Number(seconds)));
    await end?.();
  }
}

// The version of an installed package.
function version(name) {
  const file = path.join(process.env.NODE_PATH, name, "package.json");
  return JSON.parse(readFileSync(file, "utf8")).version;
}

// Asks until the answer is true.
async function until(ready) {
  const patience = performance.now() + 60_000;
  while (!(await ready().catch(() => false))) {
    if (performance.now() > patience) throw new Error("not ready after a minute");
    await new Promise((wake) => setTimeout(wake, 20));
  }
}

// Ends a server, and waits until it has.
async function stop(server, signal) {
  if (server.exitCode !== null || server.signalCode !== null) return;
  const ended = new Promise((wake) => server.once("exit", wake));
  server.kill(signal);
  await ended;
}

module.exports = { SHORT, THOUSAND, say, serve, stop, until, version };
