// Absurd: SQL functions in PostgreSQL, called through its own SDK, and a worker in this process. The database server is as it comes.
//
// An accept is a task that is spawned under an idempotency key in a queue that nobody works on. A Turn is a task of two recorded steps
// that is spawned and waited for; the SDK looks for its end after 50 ms for the first time.
"use strict";
const { execFileSync, spawn } = require("node:child_process");
const { randomUUID } = require("node:crypto");

const { Absurd } = require("absurd-sdk");
const { Pool } = require("pg");
const { SHORT, THOUSAND, say, serve, stop, until, version } = require("./jobs.cjs");

// Tasks that the worker has in hand at once, and how often it looks for more.
const WORKER = { concurrency: 32, pollInterval: 0.005 };

async function main() {
  const quiet = { stdio: ["ignore", "ignore", "inherit"] };
  const made = ["-D", "data", "-U", "peer", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"];
  execFileSync("initdb", made, quiet);
  const host = process.cwd();
  const settings = { listen_addresses: "", unix_socket_directories: host, max_connections: 200 };
  const options = Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
  const server = spawn("postgres", ["-D", "data", ...options], {
    stdio: ["ignore", "ignore", "ignore"],
  });
  const pool = new Pool({ host, user: "peer", database: "postgres", max: 64 });
  // Connections that are idle are told that the server ends.
  pool.on("error", () => {});
  try {
    await until(() => pool.query("SELECT 1").then(() => true));
    const env = { ...process.env, PGHOST: host, PGUSER: "peer", PGDATABASE: "postgres" };
    execFileSync("absurdctl", ["init"], { ...quiet, env });
    const { rows } = await pool.query("SHOW server_version");
    const postgres = rows[0].server_version.split(" ")[0];
    const accepts = new Absurd({ db: pool, queueName: "accepts" });
    const turns = new Absurd({ db: pool, queueName: "turns" });
    await accepts.createQueue();
    await turns.createQueue();
    accepts.registerTask({ name: "accept" }, async () => {});
    turns.registerTask({ name: "turn" }, async (input, ctx) => {
      const output = await ctx.step("command", async () => `output of ${input.text}`);
      return ctx.step("answer", async () => `done after ${output.length}`);
    });
    const key = () => ({ idempotencyKey: randomUUID() });
    const engine = `Absurd ${version("absurd-sdk")} on PostgreSQL ${postgres}`;
    say({ engine, pids: [server.pid] });
    await serve(async (what) => {
      if (what === "accept") {
        return { once: () => accepts.spawn("accept", { text: THOUSAND }, key()) };
      }
      const worker = await turns.startWorker(WORKER);
      return {
        once: async () => {
          const { taskID } = await turns.spawn("turn", { text: SHORT }, key());
          const { state } = await turns.awaitTaskResult(taskID);
          if (state !== "completed") throw new Error(`a turn is ${state}`);
        },
        end: () => worker.close(),
      };
    });
  } finally {
    // Does not wait for clients.
    await stop(server, "SIGINT");
  }
}

main().then(
  () => process.exit(0),
  (error) => {
    console.error(error);
    process.exit(1);
  },
);
