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
