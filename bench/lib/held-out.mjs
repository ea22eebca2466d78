// held-out.mjs: tools of servers that the search was never tuned on, as they list them, and requests written from their
// documentation (held-out-queries.json); and the servers and requests that it was tuned on (tuning-queries.json). The
// servers are installed when first asked for, pinned, into the cache folder.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { onDemand } from '../../scripts/lib/on-demand.mjs'
import { startCommand } from './servers.mjs'

/** An OAuth client that does not exist: two servers want to see one before they list their tools. */
const credentials = fileURLToPath(new URL('./no-oauth-client.json', import.meta.url))

const SERVERS = {
  'antv-chart': { package: '@antv/mcp-server-chart', version: '0.9.10' },
  browserstack: {
    package: '@browserstack/mcp-server',
    version: '1.4.2',
    env: { BROWSERSTACK_USERNAME: 'none', BROWSERSTACK_ACCESS_KEY: 'none' },
  },
  digitalocean: { package: '@digitalocean/mcp', version: '1.0.70', env: { DIGITALOCEAN_API_TOKEN: 'none' } },
  gitlab: {
    package: '@zereight/mcp-gitlab',
    version: '2.1.64',
    env: { GITLAB_PERSONAL_ACCESS_TOKEN: 'none' },
  },
  hubspot: { package: '@hubspot/mcp-server', version: '0.4.0', env: { PRIVATE_APP_ACCESS_TOKEN: 'none' } },
  jira: { package: '@aashari/mcp-server-atlassian-jira', version: '3.3.0' },
  lark: {
    package: '@larksuiteoapi/lark-mcp',
    version: '0.5.1',
    args: [
      'mcp',
      '-a',
      'none',
      '-s',
      'none',
      '-t',
      'preset.default,preset.im.default,preset.bitable.default,preset.doc.default,preset.task.default,preset.calendar.default',
    ],
  },
  postman: {
    package: '@postman/postman-mcp-server',
    version: '2.13.0',
    args: ['--full'],
    env: { POSTMAN_API_KEY: 'none' },
  },
  'azure-devops': {
    package: '@tiberriver256/mcp-server-azure-devops',
    version: '0.1.48',
    env: {
      AZURE_DEVOPS_ORG_URL: 'https://dev.azure.com/none',
      AZURE_DEVOPS_AUTH_METHOD: 'pat',
      AZURE_DEVOPS_PAT: 'none',
    },
  },
  // Without requests of their own: they only make the right tool harder to find.
  linear: { package: '@tacticlaunch/mcp-linear', version: '1.4.3', env: { LINEAR_API_TOKEN: 'none' } },
  asana: { package: '@roychri/mcp-server-asana', version: '1.8.0', env: { ASANA_ACCESS_TOKEN: 'none' } },
  trello: {
    package: '@delorenj/mcp-server-trello',
    version: '1.8.1',
    env: { TRELLO_API_KEY: 'none', TRELLO_TOKEN: 'none' },
  },
  airtable: { package: 'airtable-mcp-server', version: '1.14.0', env: { AIRTABLE_API_KEY: 'none' } },
  twilio: {
    package: '@twilio-alpha/mcp',
    version: '0.7.0',
    args: ['AC00000000000000000000000000000000/SK00000000000000000000000000000000:none'],
  },
}

/** Requests are asked for these while synonyms and weights are chosen, and for those above that have no requests held out. */
const TUNING = {
  sentry: { package: '@sentry/mcp-server', version: '0.39.0', args: ['--access-token=none'] },
  mongodb: { package: 'mongodb-mcp-server', version: '3.0.4', env: { MDB_MCP_TELEMETRY: 'disabled' } },
  neon: { package: '@neondatabase/mcp-server-neon', version: '0.3.7', args: ['start', 'napi_none'] },
  kubernetes: { package: 'mcp-server-kubernetes', version: '4.1.7' },
  launchdarkly: {
    package: '@launchdarkly/mcp-server',
    version: '0.6.2',
    args: ['start', '--api-key', 'api-none'],
  },
  chrome: { package: 'chrome-devtools-mcp', version: '1.11.0', args: ['--headless'] },
  excel: { package: '@negokaz/excel-mcp-server', version: '0.12.0' },
  mapbox: {
    package: '@mapbox/mcp-server',
    version: '0.14.0',
    // A token of the right form: user "n".
    env: { MAPBOX_ACCESS_TOKEN: 'pk.eyJ1IjoibiIsImEiOiJiIn0.x' },
  },
  'google-maps': {
    package: '@modelcontextprotocol/server-google-maps',
    version: '0.6.2',
    env: { GOOGLE_MAPS_API_KEY: 'none' },
  },
  figma: {
    package: 'figma-developer-mcp',
    version: '0.13.2',
    args: ['--stdio', '--figma-api-key=none'],
  },
  firecrawl: { package: 'firecrawl-mcp', version: '3.26.0', env: { FIRECRAWL_API_KEY: 'fc-none' } },
  elasticsearch: {
    package: '@elastic/mcp-server-elasticsearch',
    version: '0.3.1',
    env: { ES_URL: 'http://127.0.0.1:9', ES_API_KEY: 'none' },
  },
  pinecone: { package: '@pinecone-database/mcp', version: '0.3.0', env: { PINECONE_API_KEY: 'none' } },
  tavily: { package: 'tavily-mcp', version: '0.2.22', env: { TAVILY_API_KEY: 'none' } },
  brave: {
    package: '@brave/brave-search-mcp-server',
    version: '2.1.4',
    args: ['--transport', 'stdio'],
    env: { BRAVE_API_KEY: 'none' },
  },
  'ea-playwright': { package: '@executeautomation/playwright-mcp-server', version: '1.0.12' },
  sqlite: { package: 'mcp-server-sqlite-npx', version: '0.8.0', args: ['$TMP/none.db'] },
  nx: { package: 'nx-mcp', version: '0.25.0' },
  square: {
    package: 'square-mcp-server',
    version: '0.1.2',
    args: ['start'],
    env: { ACCESS_TOKEN: 'none' },
  },
  calendar: {
    package: '@cocal/google-calendar-mcp',
    version: '2.6.3',
    env: { GOOGLE_OAUTH_CREDENTIALS: credentials },
  },
  gmail: {
    package: '@gongrzhe/server-gmail-autoauth-mcp',
    version: '1.1.11',
    env: { GMAIL_OAUTH_PATH: credentials },
  },
  discord: { package: 'mcp-discord', version: '1.3.4', env: { DISCORD_TOKEN: 'none' } },
  bitbucket: { package: '@aashari/mcp-server-atlassian-bitbucket', version: '3.1.0' },
  mailtrap: {
    package: 'mcp-mailtrap',
    version: '0.9.0',
    env: {
      MAILTRAP_API_TOKEN: 'none',
      DEFAULT_FROM_EMAIL: 'none@example.com',
      MAILTRAP_ACCOUNT_ID: '1',
      MAILTRAP_TEST_INBOX_ID: '1',
    },
  },
  ynab: { package: 'ynab-mcp-server', version: '0.1.2', env: { YNAB_API_TOKEN: 'none' } },
  cloudinary: {
    package: '@cloudinary/asset-management-mcp',
    version: '0.11.0',
    args: ['start', '--cloud-name', 'none', '--api-key', 'none', '--api-secret', 'none'],
  },
  ...Object.fromEntries(
    ['linear', 'asana', 'trello', 'airtable', 'twilio'].map((name) => [name, SERVERS[name]]),
  ),
}

const queriesIn = (file) => JSON.parse(readFileSync(new URL(file, import.meta.url), 'utf8'))
export const heldOutQueries = () => queriesIn('./held-out-queries.json')
export const tuningQueries = () => queriesIn('./tuning-queries.json')

/** server → its tools. */
export const heldOutTools = () => toolsOf(SERVERS)
export const tuningTools = () => toolsOf(TUNING)

async function toolsOf(servers) {
  const lists = new Map()
  for (const [name, server] of Object.entries(servers)) {
    const slug = server.package.replace(/^@/, '').replaceAll('/', '-')
    const folder = onDemand(`compat-${slug}-${server.version}`, [`${server.package}@${server.version}`], {
      scripts: false,
    })
    const running = await startCommand(name, {
      ...server,
      program: programOf(join(folder, 'node_modules', server.package)),
    })
    try {
      lists.set(name, (await running.request('tools/list')).tools)
    } finally {
      running.close()
    }
  }
  return lists
}

function programOf(folder) {
  const { bin } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  return join(folder, typeof bin === 'string' ? bin : Object.values(bin)[0])
}
