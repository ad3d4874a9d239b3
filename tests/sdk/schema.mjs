// A JSON schema of everything the API answers, made from the types that the official Node SDK publishes. It is made anew where the
// SDK is installed, so the tests follow the SDK and nothing is copied.

import fs from 'node:fs';
import path from 'node:path';
import { createGenerator } from 'ts-json-schema-generator';
import { Ajv } from 'ajv';

// The types of answers, by the module that exports them.
const TYPES = {
  'beta/agents/agents': [
    'Agent',
    'AgentDeleted',
    'AgentSession',
    'AgentSessionDeleted',
    'AgentSessionEvent',
    'AgentSessionItem',
    'Subagent',
  ],
  'beta/agents/sessions/turns/turns': ['Turn'],
  'beta/agents/sessions/artifacts': ['SessionArtifact', 'SessionArtifactDeleted'],
  'beta/agents/sessions/traces': ['SessionTrace'],
  'beta/agents/environments/environments': ['EnvironmentInfo'],
  'beta/agents/environments/files': ['EnvironmentFile'],
  'beta/agents/environments/templates': ['EnvironmentTemplate', 'EnvironmentTemplateDeleted'],
  'beta/agents/vaults/vaults': ['Vault', 'VaultDeleted'],
  'beta/agents/vaults/credentials': ['Credential', 'CredentialDeleted'],
  files: ['FileObject', 'FileDeleted'],
};

// What a route answers with 2xx. `list` is a page of that type; `bytes` and `nothing` have no schema.
const ROUTES = [
  ['POST', '/agents', 'Agent'],
  ['GET', '/agents', 'list Agent'],
  ['POST', '/agents/sessions', 'AgentSession'],
  ['GET', '/agents/sessions', 'list AgentSession'],
  ['GET', '/agents/sessions/{}', 'AgentSession'],
  ['POST', '/agents/sessions/{}', 'AgentSession'],
  ['DELETE', '/agents/sessions/{}', 'AgentSessionDeleted'],
  ['POST', '/agents/sessions/{}/events', 'nothing'],
  ['GET', '/agents/sessions/{}/items', 'list AgentSessionItem'],
  ['GET', '/agents/sessions/{}/turns', 'list Turn'],
  ['GET', '/agents/sessions/{}/turns/{}', 'Turn'],
  ['GET', '/agents/sessions/{}/turns/{}/items', 'list AgentSessionItem'],
  ['GET', '/agents/sessions/{}/traces', 'list SessionTrace'],
  ['GET', '/agents/sessions/{}/subagents', 'list Subagent'],
  ['GET', '/agents/sessions/{}/artifacts', 'list SessionArtifact'],
  ['GET', '/agents/sessions/{}/artifacts/{}', 'SessionArtifact'],
  ['DELETE', '/agents/sessions/{}/artifacts/{}', 'SessionArtifactDeleted'],
  ['GET', '/agents/sessions/{}/artifacts/{}/content', 'bytes'],
  ['GET', '/agents/environments/{}/files', 'page EnvironmentFile'],
  ['POST', '/agents/environments/{}/files', 'EnvironmentFile'],
  ['POST', '/agents/environments/templates', 'EnvironmentTemplate'],
  ['GET', '/agents/environments/templates', 'list EnvironmentTemplate'],
  ['GET', '/agents/environments/templates/{}', 'EnvironmentTemplate'],
  ['POST', '/agents/environments/templates/{}', 'EnvironmentTemplate'],
  ['DELETE', '/agents/environments/templates/{}', 'EnvironmentTemplateDeleted'],
  ['GET', '/agents/environments/{}', 'EnvironmentInfo'],
  ['GET', '/agents/{}', 'Agent'],
  ['POST', '/agents/{}', 'Agent'],
  ['DELETE', '/agents/{}', 'AgentDeleted'],
  ['POST', '/vaults', 'Vault'],
  ['GET', '/vaults', 'list Vault'],
  ['GET', '/vaults/{}', 'Vault'],
  ['POST', '/vaults/{}', 'Vault'],
  ['DELETE', '/vaults/{}', 'VaultDeleted'],
  ['POST', '/vaults/{}/credentials', 'Credential'],
  ['GET', '/vaults/{}/credentials', 'list Credential'],
  ['GET', '/vaults/{}/credentials/{}', 'Credential'],
  ['POST', '/vaults/{}/credentials/{}', 'Credential'],
  ['DELETE', '/vaults/{}/credentials/{}', 'CredentialDeleted'],
  ['POST', '/files', 'FileObject'],
  ['GET', '/files', 'list FileObject'],
  ['GET', '/files/{}', 'FileObject'],
  ['DELETE', '/files/{}', 'FileDeleted'],
  ['GET', '/files/{}/content', 'bytes'],
].map(([method, template, answer]) => ({
  method,
  template,
  pattern: new RegExp(`^/v1${template.replaceAll('{}', '[^/]+')}$`),
  answer,
}));

/** The schema's definitions, from the SDK that is installed below `home`. */
export function definitions(home) {
  const entry = path.join(home, 'answers.ts');
  const config = path.join(home, 'answers.tsconfig.json');
  const lines = Object.entries(TYPES).map(
    ([module, names]) => `export type { ${names.join(', ')} } from 'openai/resources/${module}';`,
  );
  fs.writeFileSync(entry, `${lines.join('\n')}\n`);
  const compilerOptions = {
    module: 'esnext',
    moduleResolution: 'bundler',
    target: 'es2022',
    strict: true,
    skipLibCheck: true,
    types: [],
  };
  fs.writeFileSync(config, JSON.stringify({ compilerOptions, files: [path.basename(entry)] }));
  const generator = createGenerator({
    path: entry,
    tsconfig: config,
    skipTypeCheck: true,
    expose: 'all',
    additionalProperties: false,
  });
  const found = {};
  for (const name of Object.values(TYPES).flat()) {
    Object.assign(found, generator.createSchema(name).definitions);
    if (!found[name]) throw new Error(`the SDK's types have no schema of ${name}`);
  }
  return found;
}

const FAILURE = {
  type: 'object',
  additionalProperties: false,
  required: ['error'],
  properties: {
    error: {
      type: 'object',
      additionalProperties: false,
      required: ['message', 'type', 'code', 'param'],
      properties: {
        message: { type: 'string', minLength: 1 },
        type: { type: 'string', minLength: 1 },
        code: { type: ['string', 'null'] },
        param: { type: ['string', 'null'] },
      },
    },
  },
};

const nullableText = { type: ['string', 'null'] };

function list(type) {
  return {
    type: 'object',
    additionalProperties: false,
    required: ['object', 'data', 'has_more', 'first_id', 'last_id'],
    properties: {
      object: { const: 'list' },
      data: { type: 'array', items: { $ref: `#/definitions/${type}` } },
      has_more: { type: 'boolean' },
      first_id: nullableText,
      last_id: nullableText,
    },
  };
}

function page(type) {
  const schema = list(type);
  schema.required = ['object', 'data', 'has_more', 'next'];
  schema.properties.next = nullableText;
  return schema;
}

/** Says what is wrong with an answer, or with an event; `null` if nothing is. */
export class Judge {
  #definitions;
  #ajv = new Ajv({ allErrors: true, allowUnionTypes: true, strict: false });
  #known = new Map();

  constructor(home) {
    this.#definitions = definitions(home);
  }

  /** Fails if there is an answer that would pass whatever it says. */
  bites() {
    for (const route of ROUTES.filter(({ answer }) => answer !== 'bytes')) {
      if (!this.answer(route, '{"id": 7, "surprise": true}')) throw new Error(`${route.template} is not judged`);
    }
    if (!this.failure('{"error": "text"}')) throw new Error('failures are not judged');
    for (const type of ['agent.session.idle', 'agent.session.turn.item.done', 'of nobody']) {
      if (!this.event({ type })) throw new Error(`${type} is not judged`);
    }
  }

  /** The template of the route, as it is counted. */
  route(method, pathname) {
    return ROUTES.find((route) => route.method === method && route.pattern.test(pathname));
  }

  /** A body of a 2xx that is no stream. */
  answer(route, text) {
    const [shape, type] = route.answer.includes(' ') ? route.answer.split(' ') : ['one', route.answer];
    if (type === 'bytes') return null;
    if (type === 'nothing') return text === '' ? null : `a body where none is expected: ${text}`;
    const schema = { one: (t) => ({ $ref: `#/definitions/${t}` }), list, page }[shape](type);
    return this.#check(`${shape} ${type}`, schema, text);
  }

  /** A body of a 4xx or 5xx. */
  failure(text) {
    return this.#check('failure', FAILURE, text);
  }

  /** The data of an event. */
  event(value) {
    // The union has a member for each type; that one alone explains what is wrong.
    const own = Object.entries(this.#definitions).find(
      ([name, schema]) => name.endsWith('Event') && schema.properties?.type?.const === value?.type,
    );
    if (!own) return `no event of the API: ${JSON.stringify(value)}`;
    return this.#value(own[0], { $ref: `#/definitions/${own[0]}` }, value);
  }

  /** How many types of events the API has. */
  eventTypes() {
    return this.#definitions.AgentSessionEvent.anyOf.length;
  }

  #check(name, schema, text) {
    let value;
    try {
      value = JSON.parse(text);
    } catch (error) {
      return `no JSON (${error.message}): ${text.slice(0, 200)}`;
    }
    return this.#value(name, schema, value);
  }

  #value(name, schema, value) {
    if (!this.#known.has(name)) {
      this.#known.set(name, this.#ajv.compile({ definitions: this.#definitions, ...schema }));
    }
    const check = this.#known.get(name);
    if (check(value)) return null;
    const text = this.#ajv.errorsText(check.errors, { separator: '\n    ' });
    return `not a ${name}:\n    ${text}\n    in ${JSON.stringify(value).slice(0, 600)}`;
  }
}
