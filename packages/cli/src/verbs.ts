// verbs.ts: the table of everything the command can do. Help, completion and parsing are made from it; a verb's
// code is loaded only when it runs, because start-up time is a feature.
import type { OptionSpec, VerbSpec } from './spec.ts'

const SCOPE_OPTION: OptionSpec = {
  type: 'string',
  short: 's',
  value: 'local|project|user',
  choices: ['local', 'project', 'user'],
  help: 'which file: this project and you (local), everyone in the project (project), everywhere (user)',
}

const NO_CONNECT: OptionSpec = { type: 'boolean', help: 'only what the files say; start nothing' }

const FORCE: OptionSpec = { type: 'boolean', short: 'f', help: 'replace a server that is already there' }

export const VERBS: readonly VerbSpec[] = [
  {
    name: 'add',
    group: 'Servers',
    summary: 'add a server',
    usage: 'NAME (URL | -- COMMAND ARGS…)',
    options: {
      scope: SCOPE_OPTION,
      transport: {
        type: 'string',
        short: 't',
        value: 'stdio|http|sse|ws',
        choices: ['stdio', 'http', 'sse', 'ws'],
        help: 'how to reach it; guessed when left out',
      },
      env: {
        type: 'string',
        short: 'e',
        multiple: true,
        value: 'K=V',
        help: 'environment variable for the server',
      },
      header: { type: 'string', short: 'H', multiple: true, value: "'K: V'", help: 'HTTP header to send' },
      'headers-helper': { type: 'string', value: 'CMD', help: 'command that prints headers as JSON' },
      'client-id': { type: 'string', value: 'ID', help: 'OAuth client id' },
      'callback-port': { type: 'string', value: 'PORT', help: 'fixed port for the OAuth callback' },
      force: FORCE,
    },
    examples: [
      'plugboard add files -- npx -y @modelcontextprotocol/server-filesystem .',
      "plugboard add -s user docs https://example.com/mcp -H 'Authorization: Bearer ${DOCS_TOKEN}'",
    ],
    load: () => import('./verbs/add.ts'),
  },
  {
    name: 'add-json',
    group: 'Servers',
    summary: 'add a server from its JSON entry',
    usage: 'NAME JSON',
    options: { scope: SCOPE_OPTION, force: FORCE },
    examples: [`plugboard add-json files '{"command":"npx","args":["-y","some-server"]}'`],
    load: () => import('./verbs/add-json.ts'),
  },
  {
    name: 'remove',
    aliases: ['rm'],
    group: 'Servers',
    summary: 'remove a server from our files',
    usage: 'NAME',
    options: { scope: SCOPE_OPTION },
    completes: 'server',
    load: () => import('./verbs/remove.ts'),
  },
  {
    name: 'enable',
    group: 'Servers',
    summary: 'switch a server on',
    usage: 'NAME',
    completes: 'server',
    load: () => import('./verbs/enable.ts'),
  },
  {
    name: 'disable',
    group: 'Servers',
    summary: 'switch a server off for you',
    usage: 'NAME',
    completes: 'server',
    load: () => import('./verbs/disable.ts'),
  },
  {
    name: 'approve',
    group: 'Servers',
    summary: 'let servers that came with this project start',
    usage: '[NAME…]',
    options: { yes: { type: 'boolean', short: 'y', help: 'approve all of them without asking' } },
    completes: 'project-server',
    load: () => import('./verbs/approve.ts'),
  },
  {
    name: 'reset-project-choices',
    group: 'Servers',
    summary: 'forget what was approved for this project',
    usage: '',
    load: () => import('./verbs/reset-project-choices.ts'),
  },
  {
    name: 'import',
    group: 'Servers',
    summary: "take over another client's servers",
    usage: 'CLIENT [FILE]',
    options: {
      scope: SCOPE_OPTION,
      only: { type: 'string', multiple: true, value: 'NAME', help: 'only this server' },
      'dry-run': { type: 'boolean', short: 'n', help: 'show what would be added' },
      force: FORCE,
    },
    completes: 'client',
    examples: ['plugboard import cursor', 'plugboard import vscode .vscode/mcp.json -s project'],
    load: () => import('./verbs/import.ts'),
  },
  {
    name: 'export',
    group: 'Servers',
    summary: "print the servers in another client's format",
    usage: 'CLIENT',
    options: {
      only: { type: 'string', multiple: true, value: 'NAME', help: 'only this server' },
      output: { type: 'string', short: 'o', value: 'FILE', help: 'write to a new file instead of stdout' },
    },
    completes: 'client',
    load: () => import('./verbs/export.ts'),
  },
  {
    name: 'list',
    aliases: ['ls'],
    group: 'Look',
    summary: 'every server, where it comes from and how it is',
    usage: '',
    options: { 'no-connect': NO_CONNECT },
    load: () => import('./verbs/list.ts'),
  },
  {
    name: 'get',
    group: 'Look',
    summary: 'one server in full',
    usage: 'NAME',
    options: {
      'show-secrets': { type: 'boolean', help: 'do not mask tokens and keys' },
      'no-connect': NO_CONNECT,
    },
    completes: 'server',
    load: () => import('./verbs/get.ts'),
  },
  {
    name: 'explain',
    group: 'Look',
    summary: 'which file won for a name, and why',
    usage: 'NAME',
    completes: 'server',
    load: () => import('./verbs/explain.ts'),
  },
  {
    name: 'doctor',
    group: 'Look',
    summary: 'how far each server gets, and what to do about it',
    usage: '[NAME]',
    completes: 'server',
    examples: ['plugboard doctor', 'plugboard doctor github --json'],
    load: (live) => live('doctor'),
  },
  {
    name: 'logs',
    group: 'Look',
    summary: 'what a server wrote beside the protocol',
    usage: 'NAME',
    options: {
      follow: { type: 'boolean', short: 'f', help: 'go on as it writes' },
      lines: { type: 'string', short: 'n', value: 'N', help: 'the last N lines (200)' },
    },
    completes: 'server',
    load: (live) => live('logs'),
  },
  {
    name: 'login',
    group: 'Servers',
    summary: 'log in to a server that asks for it',
    usage: 'NAME',
    options: { 'no-browser': { type: 'boolean', help: 'print the address, and paste back where it led' } },
    completes: 'server',
    load: (live) => live('login'),
  },
  {
    name: 'logout',
    group: 'Servers',
    summary: 'revoke and forget a login',
    usage: 'NAME',
    completes: 'server',
    load: (live) => live('logout'),
  },
  {
    name: 'codebase',
    group: 'Use',
    summary: 'the code search server alone, over stdio or HTTP',
    usage: '',
    options: {
      http: { type: 'boolean', help: 'serve HTTP on loopback instead of stdio' },
      port: { type: 'string', value: 'N', help: 'the port (a free one when left out)' },
      root: { type: 'string', value: 'DIR', help: 'the folder to search' },
      threads: { type: 'string', value: 'N', help: 'worker threads for indexing, at most' },
      'allow-origin': { type: 'string', multiple: true, value: 'URL', help: 'a web page that may call' },
      status: { type: 'boolean', help: 'say how far the index is' },
      reindex: { type: 'boolean', help: 'build the index anew' },
      drop: { type: 'boolean', help: 'remove the index' },
    },
    load: (live) => live('codebase'),
  },
  {
    name: 'chat',
    group: 'Use',
    summary: 'talk to a model that has every tool',
    usage: '[-p PROMPT]',
    options: {
      prompt: {
        type: 'string',
        short: 'p',
        value: 'PROMPT',
        help: 'one question, one answer (- reads stdin)',
      },
      model: { type: 'string', short: 'm', value: 'NAME', help: 'which model' },
      'base-url': { type: 'string', value: 'URL', help: 'where the model is, e.g. a local server' },
      api: {
        type: 'string',
        value: 'anthropic|openai',
        choices: ['anthropic', 'openai'],
        help: "the model's wire format, when its name does not say",
      },
      allow: { type: 'string', multiple: true, value: 'RULE', help: 'tools that need no asking in this run' },
      'max-turns': { type: 'string', value: 'N', help: 'requests to the model for one message, at most' },
      record: { type: 'string', value: 'FILE', help: 'write the conversation down' },
      replay: { type: 'string', value: 'FILE', help: 'play a recording, without model and servers' },
    },
    examples: [
      'ANTHROPIC_API_KEY=… plugboard chat',
      'plugboard chat -p "Which tests are slow?" --json',
      'plugboard chat --base-url http://127.0.0.1:11434/v1 --model qwen3',
    ],
    load: (live) => live('chat'),
  },
  {
    name: 'serve',
    group: 'Use',
    summary: 'every server behind one endpoint (not in this version)',
    usage: '',
    options: {
      http: { type: 'boolean', help: 'serve HTTP instead of stdio' },
      port: { type: 'string', value: 'N', help: 'the port' },
    },
    load: () => import('./verbs/later.ts'),
  },
  {
    name: 'config',
    group: 'More',
    summary: 'the JSON Schema of the settings files',
    usage: 'schema',
    load: () => import('./verbs/config.ts'),
  },
  {
    name: 'completion',
    group: 'More',
    summary: 'shell completion for bash, zsh or fish',
    usage: 'SHELL',
    completes: 'shell',
    examples: ['source <(plugboard completion bash)'],
    load: () => import('./verbs/completion.ts'),
  },
]

/** Other spellings that people already have in their fingers. */
export const SPELLINGS: Readonly<Record<string, readonly string[]>> = {
  'add-from-claude-desktop': ['import', 'claude-desktop'],
}

export function findVerb(word: string): VerbSpec | undefined {
  return VERBS.find((verb) => verb.name === word || verb.aliases?.includes(word))
}
