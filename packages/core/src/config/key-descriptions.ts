// key-descriptions.ts: a sentence for every key that a user may write, by its path. `*` stands for a name, `[]` for
// an item. json-schema.ts puts them into the schema, which editors and docs/settings.md use.

const SERVER: Readonly<Record<string, string>> = {
  type: 'How the server is reached. Left out, `command` means stdio, and `url` means http with sse as the fallback.',
  command: 'The program to start; found on the PATH.',
  args: 'Its arguments.',
  env: 'Environment variables for it, besides the short list that every server gets.',
  cwd: 'The folder it is started in; a relative one is meant from where it starts without one. Left out: the project folder if you trust it, for an approved entry of the project, and for one you added that names a script of the project; a neutral one otherwise.',
  inheritEnv: 'Give it the whole environment instead of the short list.',
  url: 'The URL of the server.',
  headers: 'HTTP headers to send; take secrets from a `${VARIABLE}`.',
  headersHelper: 'A command that prints a JSON object of headers; run when a connection is made.',
  ideName: 'The editor whose server is meant, when several are open.',
  name: 'The name under which the program passes the server in.',
  id: 'The id of a connector behind a proxy; it is not used.',
  oauth: 'How to log in, where the server does not announce it.',
  'oauth.clientId': 'The id of a client that was registered by hand.',
  'oauth.callbackPort': 'A fixed port for the address that the browser comes back to.',
  'oauth.authServerMetadataUrl': "The authorization server's metadata, instead of looking for it.",
  'oauth.scopes': 'Scopes to ask for, as a list or separated by spaces.',
  'oauth.xaa': 'Log in through the identity provider of `logins.xaa`.',
  timeout: 'Milliseconds that one request may take.',
  connectTimeout: 'Milliseconds that a connect may take, from the start of the process to its lists.',
  disabled: 'Keeps the entry, but switches the server off.',
  reconnect: 'What to do when the connection is lost.',
  'reconnect.maxAttempts': 'How many quick attempts follow a loss.',
  'reconnect.delayMs':
    'The wait before the first quick attempt in milliseconds; it grows with every attempt.',
  'reconnect.retryMs':
    'The wait before the first slow retry of a failed server in milliseconds; it doubles up to five minutes.',
  permissions: 'What this server may be used for; the rules of the settings files also apply.',
  'permissions.allowedTools': 'Every tool that is not listed here asks first, whatever the rules allow.',
  'permissions.deniedTools': 'Tools that are never called.',
  'permissions.allowedResources': 'Resources that may be read; `*` stands for any text.',
  'permissions.readPermission': 'The rule for tools that only read.',
  'permissions.writePermission': 'The rule for tools that change something.',
  alwaysLoad: 'Give the model all of its tools, or these, even when there are too many to give it all.',
  concurrentTools: 'Tools that may run beside other calls although they write; `*` stands for any text.',
  description: 'What the server is for, as free text.',
  roots:
    'The folders that the server gets as roots: `false` for none, or a list. Left out: the project folder, and folders named in `args`.',
  share:
    'In the resident process: one instance of the server for all your projects (`user`), for one project, or for one session. Left out: `plugboard explain NAME` shows which.',
}

const MATCHER: Readonly<Record<string, string>> = {
  serverName: 'The name it is configured under.',
  serverCommand: 'Its command and arguments, exactly.',
  env: 'On an allow list: names of `env` that the entry may set besides a few harmless ones; `"*"` is any.',
  cwd: 'On an allow list: the entry may name a `cwd`.',
  serverUrl: 'Its URL; `*` stands for any text, and one in the host does not reach into the path.',
  headersHelper: 'On an allow list: the entry may have a `headersHelper`.',
}

const LIST: Readonly<Record<string, string>> = {
  url: 'Where the list is.',
  bearerEnv: 'The name of the environment variable that holds the token.',
}

export const KEY_DESCRIPTIONS: Readonly<Record<string, string>> = {
  $schema: 'The address of this schema, for editors.',
  mcpServers: 'Servers by name.',
  ...under('mcpServers.*', SERVER),
  allowedMcpServers: 'Only servers that match one of these may run. An empty list admits none.',
  ...under('allowedMcpServers[]', MATCHER),
  deniedMcpServers: 'Servers that match one of these never run; this overrides every allow list.',
  ...under('deniedMcpServers[]', MATCHER),
  allowManagedMcpServersOnly: "Only the administrator's `allowedMcpServers` counts.",
  managedServers: 'A list of servers that is fetched, and cached for when the network is down.',
  ...under('managedServers', LIST),
  claudeaiServers: 'The list of connectors of a claude.ai account.',
  ...under('claudeaiServers', LIST),
  enabledPlugins:
    'Plugins of Claude Code, as `plugin@marketplace`, whose servers are read where it keeps them.',
  plugins: 'Folders and `.mcpb` bundles that bring servers along.',
  'plugins[].path': 'Where it is.',
  'plugins[].userConfig': 'Values for what the plugin asks its user.',
  disabledServers: 'Names of servers that are switched off; `plugboard disable` writes it.',
  disabledMcpjsonServers: 'The same list, under the key of other products.',
  permissions: 'Which tools may be called. deny beats ask beats allow, whichever file they are in.',
  'permissions.allow':
    'Tools that run without a question, as in `mcp__files__read_*`. In a project file it has no effect; in `settings.local.json` a rule has effect once it is approved.',
  'permissions.ask': 'Tools that always ask.',
  'permissions.deny': 'Tools that are never called.',
  hooks:
    'Commands around calls and questions, by event: PreToolUse, PostToolUse, PostToolUseFailure, Elicitation, ElicitationResult.',
  logins: 'Single sign-on, machine logins, and the identity of this client.',
  'logins.xaa': 'The identity provider that entries with `oauth.xaa` log in through.',
  'logins.xaa.issuer': 'Its issuer URL.',
  'logins.xaa.clientId': 'The client id that it gave this client.',
  'logins.xaa.callbackPort': 'A fixed port for the address that the browser comes back to.',
  'logins.xaa.scopes': 'Scopes to ask it for.',
  'logins.machines': 'Servers that this machine logs in to by itself, by name.',
  'logins.machines.*.clientId': 'The id of the machine.',
  'logins.machines.*.scopes': 'Scopes to ask for.',
  'logins.machines.*.url':
    'The server that the credentials are for; its address has to begin with this. Without `url` or `issuer` they are not used.',
  'logins.machines.*.issuer':
    'The authorization server that the credentials are for; no other one gets them.',
  'logins.machines.*.privateKeyFile': 'The file with the private key (PEM or JWK) that proves the client.',
  'logins.machines.*.privateKeyEnv': 'The name of the environment variable with that key.',
  'logins.machines.*.alg': 'The signature algorithm, when the key does not say.',
  'logins.machines.*.kid': 'The id of the key.',
  'logins.machines.*.clientSecretEnv': 'The name of the environment variable with the client secret.',
  gateway: 'How `plugboard serve` serves.',
  'gateway.limits':
    'What clients may hold at a time: in all, and for one owner (one token). Without tokens only the totals count.',
  'gateway.limits.sessions':
    'Sessions kept in memory (10000). A dropped session is rebuilt when its client comes back.',
  'gateway.limits.sessionsPerOwner': 'Sessions of one owner (1000); its longest idle one makes room.',
  'gateway.limits.streams': 'Open event streams of sessions (10000).',
  'gateway.limits.streamsPerOwner': 'Open event streams of one owner (1000).',
  'gateway.limits.listens': 'Open subscriptions of 2026-07-28 (10000).',
  'gateway.limits.listensPerOwner': 'Open subscriptions of one owner (250).',
  'gateway.limits.questions': 'Calls of 2026-07-28 that wait for an answer of the client (4000).',
  'gateway.limits.questionsPerOwner': 'The same for one owner (250).',
  'gateway.select':
    'Every tool takes `_select`, a JMESPath expression that says which part of its result is wanted (false).',
  'gateway.drainMs': 'How long running calls may go on after SIGTERM, in milliseconds (10000).',
  'gateway.sessionIdleMs':
    'An idle session is dropped after this (1800000); its client can still come back to it.',
  'gateway.sessionMaxMs': 'A session id is no longer accepted after this (2592000000, 30 days).',
  tools: 'How `plugboard serve` shows single tools, by `server.tool`; `*` in a key stands for any text.',
  'tools.*.name': 'The name that clients see, used as it is.',
  'tools.*.title': 'The title that clients see.',
  'tools.*.description': "What clients are told in place of the server's description.",
  'tools.*.annotations': 'Hints that clients see; those that are left out stay.',
  'tools.*.annotations.title': 'The title, where clients take it from the hints.',
  'tools.*.annotations.readOnlyHint': 'It changes nothing.',
  'tools.*.annotations.destructiveHint': 'It may delete or overwrite.',
  'tools.*.annotations.idempotentHint': 'The same call twice does no more than once.',
  'tools.*.annotations.openWorldHint': 'It reaches beyond this machine.',
  'tools.*.hidden': 'Clients neither see nor call it.',
  'tools.*.result': '`whole`: its result is never kept back, however large it is.',
  profiles: 'Sets of tools for `plugboard serve --profile NAME`: lists of patterns as for `--expose`.',
  models: 'What a chat should know about models, by their names.',
  'models.*.inputPrice':
    'Dollars for a million tokens that are sent; the chat shows what a conversation costs.',
  'models.*.outputPrice': 'Dollars for a million tokens that the model writes.',
  'models.*.contextTokens': 'How many tokens fit into one request, where it is not the usual number.',
  audit: 'How much of the audit log is kept.',
  'audit.maxBytes': 'The size at which a file is rotated (4194304).',
  'audit.files': 'How many files are kept, the current one included (8).',
  builtins: 'Which built-in servers are on, by name; docs/built-ins.md has the names.',
  resident:
    '`false`: no command uses or starts the resident process that keeps servers running. Left out or `true`: they do.',
  'resident.idleMs': 'The milliseconds without a client after which it leaves (600000).',
  'logins.clientMetadataUrl': 'An https address where this client describes itself, instead of registering.',
}

function under(path: string, words: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(words).map(([key, word]) => [`${path}.${key}`, word]))
}
