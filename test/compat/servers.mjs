// servers.mjs: the real servers that must work, pinned: how each is started as its documentation says, and one tool of
// it that changes nothing and needs no service. A secret is a dummy wherever that suffices to start.
const FILE = { 'hello.txt': 'hello from the folder\n' }
const KUBECONFIG = `apiVersion: v1
kind: Config
clusters: [{ name: none, cluster: { server: "http://127.0.0.1:9" } }]
users: [{ name: none, user: {} }]
contexts: [{ name: none, context: { cluster: none, user: none } }]
current-context: none
`
const everything = { package: '@modelcontextprotocol/server-everything', version: '2026.8.31' }
const echo = { tool: 'echo', args: { message: 'plugged in' }, answer: /plugged in/ }
const playwright = { package: '@playwright/mcp', version: '0.0.83' }
/** A blank page in a real browser, which starts several processes; only where there is one. */
const blank = {
  tool: 'browser_navigate',
  args: { url: 'about:blank' },
  answer: /about:blank/,
  needs: 'browser',
}
const memory = {
  package: '@modelcontextprotocol/server-memory',
  version: '2026.8.31',
  env: ({ work }) => ({ MEMORY_FILE_PATH: `${work}/memory.jsonl` }),
}

export const SERVERS = [
  {
    name: 'everything',
    ...everything,
    call: echo,
    note: 'offers more tools the more a client can do for it: one more to us, who tell it the roots.',
  },
  { name: 'everything-npx', ...everything, npx: true, call: echo },
  { name: 'everything-http', ...everything, over: 'http', args: ['streamableHttp'], env: port, call: echo },
  { name: 'everything-sse', ...everything, over: 'sse', args: ['sse'], env: port, call: echo },
  {
    name: 'everything-ws',
    package: 'supergateway',
    version: '4.0.0',
    over: 'ws',
    inner: everything,
    args: ({ inner, port }) => [
      '--outputTransport',
      'ws',
      '--port',
      String(port),
      '--stdio',
      inner.join(' '),
    ],
    call: echo,
    note: '`server-everything` behind a gateway, since none of the others speaks WebSocket itself.',
  },
  {
    name: 'filesystem',
    package: '@modelcontextprotocol/server-filesystem',
    version: '2026.8.31',
    args: ({ work }) => [work],
    files: FILE,
    call: { tool: 'list_directory', args: { path: '.' }, answer: /hello\.txt/ },
  },
  { name: 'memory', ...memory, call: { tool: 'read_graph', answer: /entities/ } },
  {
    name: 'sequential-thinking',
    package: '@modelcontextprotocol/server-sequential-thinking',
    version: '2026.8.31',
    call: {
      tool: 'sequentialthinking',
      args: { thought: 'one', nextThoughtNeeded: false, thoughtNumber: 1, totalThoughts: 1 },
      answer: /thoughtNumber/,
    },
  },
  {
    name: 'github',
    package: '@modelcontextprotocol/server-github',
    version: '2025.4.8',
    env: { GITHUB_PERSONAL_ACCESS_TOKEN: 'none' },
  },
  {
    name: 'gitlab',
    package: '@modelcontextprotocol/server-gitlab',
    version: '2025.4.25',
    env: { GITLAB_PERSONAL_ACCESS_TOKEN: 'none' },
    note: 'lists schemas without a type, over which the SDK throws the whole list away.',
  },
  {
    name: 'slack',
    package: '@modelcontextprotocol/server-slack',
    version: '2025.4.25',
    env: { SLACK_BOT_TOKEN: 'xoxb-none', SLACK_TEAM_ID: 'T1' },
  },
  {
    name: 'redis',
    package: '@modelcontextprotocol/server-redis',
    version: '2025.4.25',
    args: ['redis://127.0.0.1:9'],
    patienceMs: 5000,
    expected: 'it answers nothing before it has reached a Redis; we say so, with its own last words',
  },
  {
    name: 'brave-search-old',
    package: '@modelcontextprotocol/server-brave-search',
    version: '0.6.2',
    env: { BRAVE_API_KEY: 'none' },
  },
  {
    name: 'google-maps',
    package: '@modelcontextprotocol/server-google-maps',
    version: '0.6.2',
    env: { GOOGLE_MAPS_API_KEY: 'none' },
  },
  {
    name: 'puppeteer',
    package: '@modelcontextprotocol/server-puppeteer',
    version: '2025.5.12',
    env: ({ browser }) => ({
      ALLOW_DANGEROUS: 'true',
      PUPPETEER_LAUNCH_OPTIONS: JSON.stringify({
        executablePath: browser,
        headless: true,
        args: ['--no-sandbox'],
      }),
    }),
    call: { tool: 'puppeteer_navigate', args: { url: 'about:blank' }, answer: /Navigated/, needs: 'browser' },
  },
  {
    name: 'postgres',
    package: '@modelcontextprotocol/server-postgres',
    version: '0.6.2',
    args: ['postgresql://127.0.0.1:9/none'],
    expected:
      'its resources are tables, and without a database it answers their list with an error; its tool is listed',
  },
  { name: 'playwright', ...playwright, args: headless, call: blank },
  {
    name: 'playwright-http',
    ...playwright,
    over: 'http',
    args: (facts) => [...headless(facts), '--port', String(facts.port)],
    call: blank,
  },
  {
    name: 'playwright-sse',
    ...playwright,
    over: 'sse',
    args: (facts) => [...headless(facts), '--port', String(facts.port)],
  },
  {
    name: 'chrome-devtools',
    package: 'chrome-devtools-mcp',
    version: '1.11.0',
    node: 24,
    args: ({ browser }) => [
      '--headless',
      '--isolated',
      '--chromeArg=--no-sandbox',
      ...(browser ? ['--executablePath', browser] : []),
    ],
    call: { tool: 'list_pages', answer: /about:blank/, needs: 'browser' },
    note: 'starts a process outside its group that reports to its maker after the server has ended, and ends then.',
  },
  {
    name: 'sqlite',
    package: 'mcp-server-sqlite-npx',
    version: '0.8.0',
    scripts: true,
    args: ({ work }) => [`${work}/test.db`],
    call: { tool: 'list_tables', answer: /\[\]/ },
  },
  {
    name: 'dbhub',
    package: '@bytebase/dbhub',
    version: '1.4.0',
    scripts: true,
    node: 24,
    args: ['--transport', 'stdio', '--demo'],
    call: { tool: 'execute_sql', args: { sql: 'select 6 * 7 as answer' }, answer: /42/ },
  },
  {
    name: 'dbhub-http',
    package: '@bytebase/dbhub',
    version: '1.4.0',
    scripts: true,
    node: 24,
    over: 'http',
    args: ({ port }) => ['--transport', 'http', '--port', String(port), '--demo'],
    call: { tool: 'execute_sql', args: { sql: 'select 6 * 7 as answer' }, answer: /42/ },
  },
  { name: 'context7', package: '@upstash/context7-mcp', version: '4.1.1' },
  {
    name: 'context7-http',
    package: '@upstash/context7-mcp',
    version: '4.1.1',
    over: 'http',
    args: ({ port }) => ['--transport', 'http', '--port', String(port)],
  },
  {
    name: 'notion',
    package: '@notionhq/notion-mcp-server',
    version: '2.5.2',
    env: { NOTION_TOKEN: 'ntn_none' },
  },
  {
    name: 'sentry',
    package: '@sentry/mcp-server',
    version: '0.39.0',
    args: ['--access-token=none'],
    call: { tool: 'search_sentry_tools', args: { query: 'issues' }, answer: /issue/ },
  },
  {
    name: 'mongodb',
    package: 'mongodb-mcp-server',
    version: '3.0.4',
    env: { MDB_MCP_TELEMETRY: 'disabled' },
    call: { tool: 'list-connections', answer: /./ },
  },
  { name: 'tavily', package: 'tavily-mcp', version: '0.2.22', env: { TAVILY_API_KEY: 'tvly-none' } },
  {
    name: 'eslint',
    package: '@eslint/mcp',
    version: '0.3.13',
    files: {
      'eslint.config.mjs': 'export default [{ rules: { "no-var": "error" } }]\n',
      'odd.mjs': 'var a = 1\n',
    },
    call: { tool: 'lint-files', args: ({ work }) => ({ filePaths: [`${work}/odd.mjs`] }), answer: /no-var/ },
  },
  { name: 'nx', package: 'nx-mcp', version: '0.25.0', args: ({ work }) => [work] },
  {
    name: 'figma',
    package: 'figma-developer-mcp',
    version: '0.13.2',
    args: ['--stdio', '--figma-api-key=none'],
  },
  {
    name: 'circleci',
    package: '@circleci/mcp-server-circleci',
    version: '0.20.0',
    env: { CIRCLECI_TOKEN: 'none' },
  },
  {
    name: 'neon',
    package: '@neondatabase/mcp-server-neon',
    version: '0.3.7',
    args: ['start', 'napi_none'],
  },
  {
    name: 'shadcn',
    package: 'shadcn',
    version: '4.23.0',
    args: ['mcp'],
    call: { tool: 'get_audit_checklist', answer: /check/i },
  },
  {
    name: 'repomix',
    package: 'repomix',
    version: '1.18.1',
    args: ['--mcp'],
    files: FILE,
    call: {
      tool: 'pack_codebase',
      args: ({ work }) => ({ directory: work }),
      answer: /outputId/,
    },
  },
  {
    name: 'git',
    package: '@cyanheads/git-mcp-server',
    version: '2.15.3',
    env: ({ work }) => ({ MCP_TRANSPORT_TYPE: 'stdio', LOGS_DIR: `${work}/logs` }),
    call: { tool: 'git_init', args: ({ work }) => ({ path: work }), answer: /main|master|initial/i },
  },
  {
    name: 'git-http',
    package: '@cyanheads/git-mcp-server',
    version: '2.15.3',
    over: 'http',
    env: ({ work, port }) => ({
      MCP_TRANSPORT_TYPE: 'http',
      MCP_HTTP_PORT: String(port),
      MCP_HTTP_HOST: 'localhost',
      LOGS_DIR: `${work}/logs`,
    }),
    call: { tool: 'git_init', args: ({ work }) => ({ path: work }), answer: /main|master|initial/i },
  },
  {
    name: 'code-runner',
    package: 'mcp-server-code-runner',
    version: '0.1.8',
    call: {
      tool: 'run-code',
      args: { languageId: 'javascript', code: 'console.log(6 * 7)' },
      answer: /42/,
    },
    note: 'prints text on stdout between its messages.',
  },
  { name: 'fetcher', package: 'fetcher-mcp', version: '0.3.9' },
  {
    name: 'kubernetes-go',
    package: 'kubernetes-mcp-server',
    version: '0.0.67',
    args: ({ work }) => ['--kubeconfig', `${work}/kubeconfig`],
    files: { kubeconfig: KUBECONFIG },
    call: { tool: 'configuration_view', answer: /127\.0\.0\.1/ },
    note: 'speaks the newest protocol over stdio and the one before over HTTP.',
  },
  {
    name: 'kubernetes-go-http',
    package: 'kubernetes-mcp-server',
    version: '0.0.67',
    over: 'http',
    args: ({ work, port }) => ['--kubeconfig', `${work}/kubeconfig`, '--port', String(port)],
    files: { kubeconfig: KUBECONFIG },
    call: { tool: 'configuration_view', answer: /127\.0\.0\.1/ },
  },
  {
    name: 'twilio',
    package: '@twilio-alpha/mcp',
    version: '0.7.0',
    args: ['AC00000000000000000000000000000000/SK00000000000000000000000000000000:none'],
    note: 'sends requests of a name that the protocol does not have.',
  },
  {
    name: 'elasticsearch',
    package: '@elastic/mcp-server-elasticsearch',
    version: '0.3.1',
    env: { ES_URL: 'http://127.0.0.1:9', ES_API_KEY: 'none' },
    note: 'prints JSON on stdout that is no message.',
  },
  {
    name: 'mapbox',
    package: '@mapbox/mcp-server',
    version: '0.14.0',
    node: 24,
    env: { MAPBOX_ACCESS_TOKEN: 'pk.eyJ1Ijoibm9uZSJ9.none' },
  },
  {
    name: 'firecrawl',
    package: 'firecrawl-mcp',
    version: '3.26.0',
    node: 24,
    env: { FIRECRAWL_API_KEY: 'fc-none' },
  },
  {
    name: 'brave-search',
    package: '@brave/brave-search-mcp-server',
    version: '2.1.4',
    env: { BRAVE_API_KEY: 'none' },
  },
  {
    name: 'hubspot',
    package: '@hubspot/mcp-server',
    version: '0.4.0',
    env: { PRIVATE_APP_ACCESS_TOKEN: 'none' },
  },
  { name: 'antv-chart', package: '@antv/mcp-server-chart', version: '0.9.10' },
  {
    name: 'gitlab-zereight',
    package: '@zereight/mcp-gitlab',
    version: '2.1.64',
    env: { GITLAB_PERSONAL_ACCESS_TOKEN: 'none' },
  },
  {
    name: 'kubernetes-node',
    package: 'mcp-server-kubernetes',
    version: '4.1.7',
    env: ({ work }) => ({ KUBECONFIG: `${work}/kubeconfig` }),
    files: { kubeconfig: KUBECONFIG },
    call: { tool: 'ping', answer: /./ },
  },
  { name: 'mermaid', package: 'mcp-mermaid', version: '0.4.1' },
  { name: 'mui', package: '@mui/mcp', version: '0.1.6', node: 24 },
  {
    name: 'postman',
    package: '@postman/postman-mcp-server',
    version: '2.13.0',
    env: { POSTMAN_API_KEY: 'PMAK-none' },
  },
  { name: 'fetch', package: 'mcp-fetch-server', version: '1.1.2' },
  {
    name: 'airtable',
    package: 'airtable-mcp-server',
    version: '1.14.0',
    env: { AIRTABLE_API_KEY: 'pat.none' },
  },
  {
    name: 'graphql',
    package: 'mcp-graphql',
    version: '2.0.4',
    env: { ENDPOINT: 'http://127.0.0.1:9/graphql' },
  },
  {
    name: 'perplexity',
    package: '@perplexity-ai/mcp-server',
    version: '1.2.1',
    env: { PERPLEXITY_API_KEY: 'none' },
  },
  { name: 'excel', package: '@negokaz/excel-mcp-server', version: '0.12.0' },
  { name: 'exa', package: 'exa-mcp-server', version: '3.4.1', env: { EXA_API_KEY: 'none' } },
  {
    name: 'launchdarkly',
    package: '@launchdarkly/mcp-server',
    version: '0.6.2',
    args: ['start', '--api-key', 'api-none'],
  },
  {
    name: 'pinecone',
    package: '@pinecone-database/mcp',
    version: '0.3.0',
    env: { PINECONE_API_KEY: 'none' },
  },
  {
    name: 'playwright-executeautomation',
    package: '@executeautomation/playwright-mcp-server',
    version: '1.0.12',
  },
]

function port({ port }) {
  return { PORT: String(port) }
}

function headless({ browser }) {
  return ['--headless', '--isolated', '--no-sandbox', ...(browser ? ['--executable-path', browser] : [])]
}
