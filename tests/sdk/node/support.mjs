// What the tests of the Node SDK share.

import assert from 'node:assert/strict';
import { test as anyTest } from 'node:test';
import OpenAI from 'openai';

/** As anybody would make it: address and key come from the environment. */
export const client = new OpenAI();
export const { agents } = client.beta;
export const { sessions } = agents;

/** Nothing that a test waits for takes longer, even on a machine that is busy with something else. */
export const PATIENCE_MS = 60_000;

/** A test that ends, whatever it waits for. */
export const test = (name, run) => anyTest(name, { timeout: 2 * PATIENCE_MS }, run);

const none = { type: 'none' };

/** A Session without an environment; `input` are the demo model's directives. */
export function session(input, more = {}) {
  return sessions.create({ agent: { model: 'demo' }, environment: none, input, ...more });
}

/** The same, streamed. */
export function streamed(input, more = {}) {
  return session(input, { stream: true, ...more });
}

/** A function of an Agent that takes any object. */
export function tool(name) {
  return { type: 'function', name, description: name, parameters: { type: 'object' } };
}

export async function collect(iterable) {
  const all = [];
  for await (const one of iterable) all.push(one);
  return all;
}

export const types = (events) => events.map((event) => event.type.replace(/^agent\.(session\.)?/, ''));

/** The Session once it is as wanted. */
export async function until(id, wanted) {
  const end = Date.now() + PATIENCE_MS;
  for (;;) {
    const now = await sessions.retrieve(id);
    if (wanted(now)) return now;
    assert.ok(Date.now() < end, `still ${now.status}`);
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}

export const idle = (id) => until(id, (now) => now.status === 'idle');

/** Whole text of the assistant in a Session's Items, oldest first. */
export async function said(id) {
  const items = await collect(sessions.items.list(id, { order: 'asc' }));
  const messages = items.filter((item) => item.type === 'message' && item.role === 'assistant');
  return messages.map((item) => item.content.map((part) => part.text).join(''));
}

/** Orders trouble from what stands before the daemon. */
export async function trouble(order) {
  const url = process.env.OPENAI_BASE_URL.replace(/\/v1$/, '/__proxy/trouble');
  const answer = await fetch(url, { method: 'POST', body: JSON.stringify(order) });
  assert.equal(answer.status, 200);
}

/** The error that a promise ends with, which must be of this class and status. */
export async function refused(promise, kind, status) {
  const error = await promise.then(
    (value) => assert.fail(`answered: ${JSON.stringify(value)}`),
    (error) => error,
  );
  assert.ok(error instanceof kind, `${error.constructor.name}: ${error.message}`);
  assert.equal(error.status, status);
  assert.match(error.requestID, /^req_/);
  return error;
}
