// vscode.ts: VS Code's mcp.json (`servers`, `inputs`), and the older `"mcp": {"servers"}` inside settings.json. VS
// Code prompts the user for inputs; here each becomes an environment variable, and a note says which.

import { clientFormat } from './client-format.ts'
import { excerpt } from './excerpt.ts'
import { compact, type Fields } from './fields.ts'
import { type Ability, noteOthers, oauthOf, readType, requireOne, serverMap, UNKNOWN } from './servers.ts'
import { isObject, type JsonObject } from './tree.ts'
import type { ClientFile, ClientMachine, ImportNote, Tell } from './types.ts'
import { variable, variableName, variableStyle } from './variables.ts'
import {
  ENV_FILE,
  editorSpelling,
  editorVariable,
  pathOf,
  printWorkspaceCwd,
  readWorkspaceCwd,
  settingsFolder,
} from './vscode-family.ts'

const title = 'VS Code'
const CAN: readonly Ability[] = ['stdio', 'http', 'sse', 'url', 'cwd', 'oauth.clientId']
const style = variableStyle({ title, spell: editorSpelling, special: editorVariable })

export const vscode = clientFormat({
  id: 'vscode',
  title,
  can: CAN,
  style,
  files,

  reading(document, notes) {
    const inputs = readInputs(bodyOf(document).body.inputs, notes)
    const special = (inner: string, tell: Tell) =>
      inner.startsWith('input:') ? inputs.use(inner.slice('input:'.length)) : editorVariable(inner, tell)
    return { style: variableStyle({ title, spell: editorSpelling, special }), notes: inputs.notes }
  },

  servers(document, notes) {
    const { body, key } = bodyOf(document)
    // The other keys of a settings.json are ignored.
    if (body === document && document[key] !== undefined) noteOthers(document, [key, 'inputs'], notes)
    return serverMap(body[key], key, notes)
  },

  readEntry,

  printEntry(ours) {
    const { kind, command, args, env, url, headers, clientId } = ours
    return compact({
      type: kind === 'url' ? undefined : kind,
      ...{ command, args, env, cwd: printWorkspaceCwd(ours.cwd), url, headers },
      oauth: compact({ clientId }),
    })
  },

  document: (servers) => ({ servers }),
})

function files(place: ClientMachine): readonly ClientFile[] {
  const path = pathOf(place)
  const inFolder = (folder: string, scope: ClientFile['scope']) =>
    ['mcp.json', 'settings.json'].map((name) => ({ path: path.join(folder, name), scope }))
  return [
    ...inFolder(path.join(place.cwd, '.vscode'), 'project'),
    ...['Code', 'Code - Insiders'].flatMap((product) =>
      inFolder(path.join(settingsFolder(place), product, 'User'), 'user'),
    ),
  ]
}

/** The object that holds the servers, wherever this kind of file has it. */
function bodyOf(document: JsonObject): { body: JsonObject; key: string } {
  if (document.servers === undefined && isObject(document.mcp)) return { body: document.mcp, key: 'servers' }
  const key = document.servers === undefined && document.mcpServers !== undefined ? 'mcpServers' : 'servers'
  return { body: document, key }
}

function readEntry(fields: Fields): Record<string, unknown> {
  const type = readType(fields)
  const command = fields.text('command')
  const entry =
    command === undefined
      ? compact({ type, url: readUrl(fields), headers: fields.textMap('headers'), oauth: readOAuth(fields) })
      : compact({
          command,
          args: fields.texts('args'),
          env: fields.textMap('env'),
          cwd: readWorkspaceCwd(fields),
        })
  requireOne(entry, 'a command or a url')
  const disabled = fields.boolean('disabled') || undefined
  fields.drop('envFile', ENV_FILE)
  fields.drop('dev', 'Watching and debugging a server is VS Code’s own; it is left out.')
  const sandbox = 'There is no sandbox here: the server runs with all your rights.'
  if (fields.boolean('sandboxEnabled')) fields.note('sandboxEnabled', sandbox)
  fields.drop('sandbox', sandbox)
  fields.drop('gallery', 'Where the server was installed from is left out.')
  fields.drop('version', 'Where the server was installed from is left out.')
  fields.leftovers(UNKNOWN)
  return compact({ ...entry, disabled })
}

function readUrl(fields: Fields): string | undefined {
  const url = fields.text('url')
  if (url !== undefined && /^(?:unix|pipe):/.test(url))
    fields.note('url', 'A socket or pipe as address is not supported here; the server will not connect.')
  return url
}

function readOAuth(fields: Fields): unknown {
  const oauth = fields.object('oauth')
  if (!oauth) return undefined
  const ours = oauthOf({ clientId: oauth.text('clientId') })
  oauth.leftovers(UNKNOWN)
  return ours
}

/** Variables that nearly every machine sets for other purposes. */
const SYSTEM = new Set(
  'PATH HOME USER USERNAME LOGNAME SHELL PWD OLDPWD TMPDIR TEMP TMP LANG TERM EDITOR'.split(' '),
)

interface Input {
  readonly description: string | undefined
  readonly password: boolean
  readonly fallback: string | undefined
}

/** The inputs of the document; each gets its own variable when it is first used. */
function readInputs(value: unknown, notes: ImportNote[]) {
  const defined = new Map<string, Input>()
  const list = Array.isArray(value) ? value : []
  if (value !== undefined && value !== null && !Array.isArray(value))
    notes.push({ field: 'inputs', message: 'A list is expected here; nothing is read from it.' })
  for (const item of list) {
    if (!isObject(item) || typeof item.id !== 'string') continue
    const text = (key: string) => (typeof item[key] === 'string' ? item[key] : undefined)
    const password = item.password === true
    defined.set(item.id, {
      description: text('description'),
      password,
      // The default of a password field may be a secret, so it is dropped.
      fallback: password || text('default')?.includes('}') ? undefined : text('default'),
    })
  }

  const names = new Map<string, string>()
  const taken = new Set<string>()
  const counts = new Map<string, number>()
  const nameOf = (id: string): string => {
    const known = names.get(id)
    if (known !== undefined) return known
    const plain = variableName(id)
    // An input named "path" must not read the PATH of this machine.
    const base = SYSTEM.has(plain) ? `INPUT_${plain}` : plain
    let count = counts.get(base) ?? 1
    const numbered = () => (count === 1 ? base : `${base}_${count}`)
    while (taken.has(numbered())) count++
    const name = numbered()
    counts.set(base, count)
    taken.add(name)
    names.set(id, name)
    return name
  }

  return {
    use(id: string): string {
      const fallback = defined.get(id)?.fallback
      const name = nameOf(id)
      return fallback ? `\${${name}:-${fallback}}` : variable(name)
    },
    notes(): readonly ImportNote[] {
      return [...names].map(([id, name]) => {
        const input = defined.get(id)
        const what = input?.description ? ` (${excerpt(input.description)})` : ''
        const kind = input?.password ? ', a secret' : ''
        const message = input
          ? `VS Code asks for this input${what}. Here, set the environment variable ${name}${kind}.`
          : `This input is used but not defined. Here, set the environment variable ${name}.`
        return { field: `inputs.${id}`, message }
      })
    },
  }
}
