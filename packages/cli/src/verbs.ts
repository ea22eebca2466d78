// verbs.ts: the table of everything the command can do. Help, completion and parsing are made from it; a verb's
// code is loaded only when it runs, because start-up time is a feature. The verbs of the group Use are in use-verbs.ts.
import { OFFERED_TRANSPORTS } from '@plugboard/core/config/transport-traits'
import type { OptionSpec, VerbSpec } from './spec.ts'
import { USE_VERBS } from './use-verbs.ts'

const SCOPE_OPTION: OptionSpec = {
  type: 'string',
  short: 's',
  value: 'local|project|user',
  choices: ['local', 'project', 'user'],
  help: 'which file: this project and you (local), everyone in the project (project), everywhere (user)',
}

const NO_CONNECT: OptionSpec = { type: 'boolean', help: 'only read the files; start no server' }

const FORCE: OptionSpec = { type: 'boolean', short: 'f', help: 'replace a server that already exists' }

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
        choices: OFFERED_TRANSPORTS,
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
    load: () => import('./config-verbs/add.ts'),
  },
  {
    name: 'add-json',
    group: 'Servers',
    summary: 'add a server from its JSON entry',
    usage: 'NAME JSON',
    options: { scope: SCOPE_OPTION, force: FORCE },
    examples: [`plugboard add-json files '{"command":"npx","args":["-y","some-server"]}'`],
    load: () => import('./config-verbs/add-json.ts'),
  },
  {
    name: 'remove',
    aliases: ['rm'],
    group: 'Servers',
    summary: 'remove a server from our files',
    usage: 'NAME',
    options: { scope: SCOPE_OPTION },
    completes: 'server',
    load: () => import('./config-verbs/remove.ts'),
  },
  {
    name: 'enable',
    group: 'Servers',
    summary: 'switch a server on',
    usage: 'NAME',
    completes: 'server',
    load: () => import('./config-verbs/enable.ts'),
  },
  {
    name: 'disable',
    group: 'Servers',
    summary: 'switch a server off, for you only',
    usage: 'NAME',
    completes: 'server',
    load: () => import('./config-verbs/disable.ts'),
  },
  {
    name: 'approve',
    group: 'Servers',
    summary: 'approve servers, hooks and allow rules of this project',
    usage: '[NAME…]',
    options: {
      yes: { type: 'boolean', short: 'y', help: 'approve without asking' },
      settings: { type: 'boolean', help: 'only the hooks and allow rules of your local files' },
      pin: { type: 'boolean', help: 'also record the files an entry names, and ask again when one changes' },
      mine: { type: 'boolean', help: 'you wrote the entries: your credentials may be used for them' },
    },
    completes: 'project-server',
    examples: ['plugboard approve', 'plugboard approve docs --pin'],
    load: () => import('./config-verbs/approve.ts'),
  },
  {
    name: 'trust',
    group: 'Servers',
    summary: "let your own servers start in this project's folder",
    usage: '[DIR]',
    options: {
      list: { type: 'boolean', help: 'show the folders you were asked about' },
      remove: { type: 'boolean', help: 'forget the answer about the folder' },
      yes: { type: 'boolean', short: 'y', help: 'do not ask' },
    },
    load: () => import('./config-verbs/trust.ts'),
  },
  {
    name: 'reset-project-choices',
    group: 'Servers',
    summary: 'forget what was approved for this project',
    usage: '',
    load: () => import('./config-verbs/reset-project-choices.ts'),
  },
  {
    name: 'import',
    group: 'Servers',
    summary: "take over another client's servers",
    usage: '[CLIENT] [FILE]',
    options: {
      scope: SCOPE_OPTION,
      only: { type: 'string', multiple: true, value: 'NAME', help: 'only this server' },
      'dry-run': { type: 'boolean', short: 'n', help: 'show what would be added' },
      force: FORCE,
    },
    completes: 'client',
    examples: ['plugboard import cursor', 'plugboard import vscode .vscode/mcp.json -s project'],
    load: () => import('./config-verbs/import.ts'),
  },
  {
    name: 'adopt',
    group: 'Servers',
    summary: 'let another client use this board in place of its own servers',
    usage: 'CLIENT',
    options: {
      'dry-run': { type: 'boolean', short: 'n', help: 'show what would change' },
      undo: { type: 'boolean', help: "put the client's file back" },
    },
    completes: 'client',
    examples: ['plugboard adopt cursor --dry-run', 'plugboard adopt cursor --undo'],
    load: () => import('./config-verbs/adopt.ts'),
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
    load: () => import('./config-verbs/export.ts'),
  },
  {
    name: 'list',
    aliases: ['ls'],
    group: 'Look',
    summary: 'list every server, its source and its state',
    usage: '',
    options: { 'no-connect': NO_CONNECT },
    load: () => import('./config-verbs/list.ts'),
  },
  {
    name: 'get',
    group: 'Look',
    summary: 'show one server in full',
    usage: 'NAME',
    options: {
      'show-secrets': { type: 'boolean', help: 'do not mask tokens and keys' },
      'no-connect': NO_CONNECT,
    },
    completes: 'server',
    load: () => import('./config-verbs/get.ts'),
  },
  {
    name: 'explain',
    group: 'Look',
    summary: 'show which file defines a server, and why it wins',
    usage: 'NAME',
    options: { 'show-values': { type: 'boolean', help: 'show the values of variables in full' } },
    completes: 'server',
    load: () => import('./config-verbs/explain.ts'),
  },
  {
    name: 'doctor',
    group: 'Look',
    summary: 'check each server step by step, and say what to do',
    usage: '[NAME]',
    completes: 'server',
    examples: ['plugboard doctor', 'plugboard doctor github --json'],
    load: (live) => live('doctor'),
  },
  {
    name: 'reconnect',
    group: 'Look',
    summary: 'reconnect a server and report the result',
    usage: 'NAME',
    completes: 'server',
    examples: ['plugboard reconnect github', 'plugboard reconnect github --json'],
    load: (live) => live('reconnect'),
  },
  {
    name: 'logs',
    group: 'Look',
    summary: 'show the log messages and stderr of a server',
    usage: 'NAME',
    options: {
      follow: { type: 'boolean', short: 'f', help: 'keep printing new lines' },
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
    options: {
      'no-browser': { type: 'boolean', help: 'print the URL; you paste back the last URL of the browser' },
    },
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
    name: 'audit',
    group: 'Look',
    summary: 'list the calls, and the rule that allowed each',
    usage: '',
    options: {
      verify: { type: 'boolean', help: 'check that the log was not changed' },
      lines: { type: 'string', short: 'n', value: 'N', help: 'the last N lines (50)' },
    },
    load: (live) => live('audit'),
  },
  ...USE_VERBS,
  {
    name: 'generate',
    group: 'More',
    summary: "write TypeScript declarations of the servers' tools",
    usage: 'types [SERVER…]',
    options: {
      output: {
        type: 'string',
        short: 'o',
        value: 'FILE',
        help: 'the file to write (plugboard.d.ts); - is stdout',
      },
      check: { type: 'boolean', help: 'write nothing; exit with 1 when the file is out of date' },
    },
    completes: 'server',
    examples: ['plugboard generate types github -o src/tools.d.ts', 'plugboard generate types --check'],
    load: (live) => live('generate'),
  },
  {
    name: 'connect',
    group: 'Use',
    summary: 'the resident board for another MCP client, over stdio',
    usage: '',
    examples: ['claude mcp add board -- plugboard connect'],
    load: (live) => live('connect'),
  },
  {
    name: 'up',
    group: 'More',
    summary: 'start the resident board, which keeps servers running for every terminal',
    usage: '',
    options: {
      foreground: { type: 'boolean', help: 'be the resident board, for a service manager' },
      install: { type: 'boolean', help: 'write a unit for systemd or launchd that runs it' },
      'idle-ms': {
        type: 'string',
        value: 'N',
        help: 'with --foreground: leave after so long without a client (600000; 0 stays)',
      },
    },
    examples: ['plugboard up', 'plugboard up --install'],
    load: (live) => live('up'),
  },
  {
    name: 'down',
    group: 'More',
    summary: 'end the resident board and the servers it keeps',
    usage: '',
    load: (live) => live('down'),
  },
  {
    name: 'status',
    group: 'Look',
    summary: 'show the resident board: its servers, clients and memory',
    usage: '',
    load: (live) => live('status'),
  },
  {
    name: 'config',
    group: 'More',
    summary: 'print the JSON Schema of the settings files',
    usage: 'schema',
    load: () => import('./config-verbs/config.ts'),
  },
  {
    name: 'completion',
    group: 'More',
    summary: 'print shell completion for bash, zsh, fish or PowerShell',
    usage: 'SHELL',
    completes: 'shell',
    examples: ['source <(plugboard completion bash)'],
    load: () => import('./config-verbs/completion.ts'),
  },
]

/** Other spellings that users are used to. */
export const SPELLINGS: Readonly<Record<string, readonly string[]>> = {
  'add-from-claude-desktop': ['import', 'claude-desktop'],
}

export function findVerb(word: string): VerbSpec | undefined {
  return VERBS.find((verb) => verb.name === word || verb.aliases?.includes(word))
}
