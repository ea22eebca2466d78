// held-out.mjs: tools of servers that the search was never tuned on, as they list them, and requests written from their
// documentation (held-out-queries.json); and the servers and requests that it was tuned on (tuning-queries.json). The
// servers are installed when first asked for, pinned, into the cache folder.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { onDemand } from '../../scripts/lib/on-demand.mjs'
import { startCommand } from './servers.mjs'

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
