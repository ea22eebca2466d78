// key-descriptions.ts: one sentence for every key of gateway.json, for the JSON Schema and the reference in docs/gateway.md.

export const KEY_DESCRIPTIONS: Readonly<Record<string, string>> = {
  $schema: 'The address of this schema, for editors.',
  publicUrl:
    'The address under which clients reach the gateway, without /mcp. Its host name and its origin are accepted, and OAuth metadata name it.',
  auth: 'Which tokens are accepted.',
  'auth.issuers': 'Identity providers whose access tokens (JWT) are accepted. Needs publicUrl.',
  'auth.issuers[].issuer': 'The issuer, exactly as the token says it in "iss".',
  'auth.issuers[].audience':
    'What the token must say in "aud"; the address of the endpoint (publicUrl and /mcp) when left out.',
  'auth.issuers[].jwksUri':
    "Where the issuer's keys are; read from the issuer's metadata (RFC 8414, OpenID) when left out.",
  'auth.issuers[].groupsClaim':
    'The claim that holds the groups of the user, with dots for nested ones ("groups").',
  'auth.issuers[].userClaim': 'The claim that names the user in logs and limits ("sub").',
  'auth.issuers[].scopes': 'Scopes that a token needs, all of them.',
  'auth.issuers[].clockSkewSeconds': 'How much the clocks may differ (30).',
  'auth.tokens':
    'The file with the named tokens of `plugboard serve token`, relative to this file (~/.plugboard/gateway-tokens.json).',
  roles:
    'What users see, by role. When there are roles, a user of an issuer without any of them is refused. A user with several sees what any of them exposes, except what any of them denies.',
  'roles.*.groups': 'Users in one of these groups have the role; "*" is every user.',
  'roles.*.expose':
    'The servers and tools that the role sees, as `server` or `server.tool*`; everything when left out.',
  store:
    'The Redis or Valkey that several replicas share, as in redis://host:6379 (rediss:// for TLS). ${VAR} is expanded. Needs PLUGBOARD_KEYS.',
  limits:
    'How many calls a user may make; without it there is no limit. More are refused with 429 and the time to come back.',
  'limits.user': 'For every user, or where users have no name for every token.',
  'limits.roles':
    'For users with a role, in place of `limits.user`. Of several roles the largest number counts.',
  'limits.tools':
    'For each user and the tools that a pattern matches, as `server` or `server.tool*`, on top of the others.',
  'limits.user.concurrent': 'Calls at a time. Several replicas have a share of it each.',
  'limits.user.perMinute': 'Calls per minute.',
  'limits.user.burst': 'How many of them may come at once (a sixth of perMinute).',
  'limits.user.perDay': 'Calls per day (UTC).',
  'limits.roles.*.concurrent': 'Calls at a time. Several replicas have a share of it each.',
  'limits.roles.*.perMinute': 'Calls per minute.',
  'limits.roles.*.burst': 'How many of them may come at once (a sixth of perMinute).',
  'limits.roles.*.perDay': 'Calls per day (UTC).',
  'limits.tools.*.concurrent': 'Calls at a time. Several replicas have a share of it each.',
  'limits.tools.*.perMinute': 'Calls per minute.',
  'limits.tools.*.burst': 'How many of them may come at once (a sixth of perMinute).',
  'limits.tools.*.perDay': 'Calls per day (UTC).',
  accessLog:
    'Where a line of JSON goes for every call: `stderr`, or a file relative to this one. It has the user, the server, the tool, the outcome, the time and the trace; never arguments.',
  audit: 'The audit lines of all replicas in one place, beside the file of each. Needs `store`.',
  'audit.stream': 'Adds them to the stream `pb:audit` of the store, in sealed batches.',
  'audit.arguments': 'With the arguments of calls, without known secrets (false).',
  'audit.keep': 'How many batches the stream keeps, about (100000).',
  isolation: 'Servers that users have for themselves: a process that no other user reaches.',
  'isolation.servers':
    'By server: `user` gives every user an instance, `session` every session of a legacy client, `shared` is one for all (`shared`).',
  'isolation.idleMinutes': 'An instance that is not used for so long is stopped (15).',
  'isolation.perUser': 'Instances of one user at a time (10).',
  'isolation.inAll': 'Instances of all users at a time (200).',
  userLogins:
    'Remote servers to which each user logs in with an account of its own. Needs publicUrl, and with a store also userLogins.key.',
  'userLogins.servers':
    'The servers, by name. Each user has a connection of its own to them, which is told who the user is as written here.',
  'userLogins.servers.*.login':
    'false: users do not log in there, they are only named by headers. Otherwise by OAuth, or by single sign-on where the entry has `oauth.xaa` (true).',
  'userLogins.servers.*.headers':
    'Headers that name the user to the server: ${user.sub}, ${user.email}, ${user.name}, ${user.issuer}. A user without such a value is refused.',
  'userLogins.servers.*.exchange':
    "The user's own access token is exchanged for one of this server (RFC 8693), and no login is asked for.",
  'userLogins.servers.*.exchange.issuer':
    'The authorization server that exchanges: one of auth.issuers. Only tokens of this issuer are sent to it.',
  'userLogins.servers.*.exchange.clientId': 'The client id of this gateway there.',
  'userLogins.servers.*.exchange.clientSecretEnv': 'The variable with its secret.',
  'userLogins.servers.*.exchange.audience':
    'The audience to ask for; the address of the server is always sent as resource.',
  'userLogins.servers.*.exchange.scopes': 'The scopes to ask for.',
  'userLogins.key':
    'Where the key comes from that seals the logins. Without it one is made in the state folder, for a gateway without a store.',
  'userLogins.key.file':
    'A file with 32 bytes in base64, relative to this one; or several as kid:key, of which the first seals and all open.',
  'userLogins.key.command':
    'A program and its arguments that print the same, for a key management service. It has 15 seconds.',
  'userLogins.key.keychain': "A name in the operating system's keychain; the key is made at the first start.",
  'userLogins.minutes': 'How long a user has to finish a login (10).',
  'userLogins.verify':
    'Identity providers that are asked who the user of the browser is, before a login begins. Another user than the one who called is refused.',
  'userLogins.verify[].issuer': 'The provider: one of auth.issuers.',
  'userLogins.verify[].clientId':
    'The client id of this gateway there; its redirect address is publicUrl and /logins/callback.',
  'userLogins.verify[].clientSecretEnv': 'The variable with its secret.',
  tls: 'Serves https. Without it a proxy in front of the gateway does.',
  'tls.cert':
    'The certificate with its chain (PEM), relative to this file. A changed file is used within a second.',
  'tls.key': 'Its key (PEM).',
  admin: 'Administration of the running gateway, for `plugboard gateway` and Prometheus.',
  'admin.port': 'Its own port.',
  'admin.host': 'Where it listens (127.0.0.1).',
  'admin.token':
    'The file with its token, relative to this one (~/.plugboard/gateway-admin-token, made at the first start).',
  'roles.*.deny': 'Servers and tools that the role neither sees nor calls, whatever else exposes them.',
}
