// Restate: its server as it comes, a service in this process, and clients that post to its ingress.
//
// An accept is an invocation that is due in an hour, sent under an idempotency key: it is stored and answered, and nothing runs yet.
// A Turn is an invocation of two recorded steps that is called and waited for.
"use strict";
const { spawn } = require("node:child_process");
const { randomUUID } = require("node:crypto");
const http = require("node:http");
const path = require("node:path");

// Node 20 has no such function yet, and the SDK calls it.
Promise.withResolvers ??= function withResolvers() {
  const made = {};
  made.promise = new Promise((resolve, reject) => Object.assign(made, { resolve, reject }));
  return made;
};
process.env.RESTATE_LOGGING = "ERROR";

const restate = require("@restatedev/restate-sdk");
const { SHORT, THOUSAND, say, serve, stop, until, version } = require("./jobs.cjs");

const [NODE, INGRESS, ADMIN, SERVICE] = [5122, 8080, 9070, 9080];
const agent = new http.Agent({ keepAlive: true });

// One request to the server; its answer, or an error if it refuses.
function ask(port, method, path, body = "", headers = {}) {
  return new Promise((resolve, reject) => {
    const options = { host: "127.0.0.1", port, method, path, agent };
    const asked = http.request(
      { ...options, headers: { "content-type": "application/json", ...headers } },
      (answer) => {
        let text = "";
        answer.setEncoding("utf8");
        answer.on("data", (part) => (text += part));
        answer.on("error", reject);
        answer.on("end", () =>
          answer.statusCode < 300 ? resolve(text) : reject(new Error(`${path}: ${text}`)),
        );
      },
    );
    asked.on("error", reject);
    asked.end(body);
  });
}

const peer = restate.service({
  name: "peer",
  handlers: {
    turn: async (ctx, input) => {
      const output = await ctx.run("command", () => `output of ${input.text}`);
      return ctx.run("answer", () => `done after ${output.length}`);
    },
  },
});

async function main() {
  const bin = path.join(
    process.env.NODE_PATH,
    `@restatedev/restate-server-${process.platform}-${process.arch}`,
    "bin",
    "restate-server",
  );
  const address = (port) => `127.0.0.1:${port}`;
  await restate.serve({ services: [peer], port: SERVICE });
  const options = ["--no-logo", "--listen-mode", "tcp", "--node-name", "peer", "--base-dir", "data"];
  const server = spawn(bin, options, {
    stdio: ["ignore", "ignore", "ignore"],
    env: {
      ...process.env,
      DO_NOT_TRACK: "1",
      RESTATE_DISABLE_TELEMETRY: "true",
      RESTATE_LOG_FILTER: "error",
      RESTATE_BIND_ADDRESS: address(NODE),
      RESTATE_ADVERTISED_ADDRESS: `http://${address(NODE)}`,
      RESTATE_INGRESS__BIND_ADDRESS: address(INGRESS),
      RESTATE_ADMIN__BIND_ADDRESS: address(ADMIN),
    },
  });
  try {
    await until(() => ask(ADMIN, "GET", "/health").then(() => true));
    const deployment = JSON.stringify({ uri: `http://${address(SERVICE)}` });
    await until(() => ask(ADMIN, "POST", "/deployments", deployment).then(() => true));
    const post = (path, text) => {
      const headers = { "idempotency-key": randomUUID() };
      return ask(INGRESS, "POST", path, JSON.stringify({ text }), headers);
    };
    await until(() => post("/peer/turn", SHORT).then(() => true));
    say({ engine: `Restate ${version("@restatedev/restate-server")}`, pids: [server.pid] });
    await serve((what) => ({
      once:
        what === "accept"
          ? () => post("/peer/turn/send?delay=1h", THOUSAND)
          : () => post("/peer/turn", SHORT),
    }));
  } finally {
    await stop(server, "SIGTERM");
  }
}

main().then(
  () => process.exit(0),
  (error) => {
    console.error(error);
    process.exit(1);
  },
);
