// docs-api.mjs: the API reference: every symbol that a package exports, with its doc comment and its declaration, read from the
// built declaration files. `symbolsOf` is also what the test of coverage looks at.
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { parse } from '@babel/parser'
import { root } from './ensure-install.mjs'

/** The entry points that programs are meant to use: the page, the import, and the file that is built for it. */
export const ENTRIES = [
  ['core', '@plugboard/core', 'packages/core/dist/index.d.ts'],
  ['core-tools', '@plugboard/core/tools', 'packages/core/dist/tools/index.d.ts'],
  ['agent', '@plugboard/agent', 'packages/agent/dist/index.d.ts'],
  ['gateway', '@plugboard/gateway', 'packages/gateway/dist/index.d.ts'],
  ['codebase', '@plugboard/codebase', 'packages/codebase/dist/index.d.ts'],
]

/** The kinds of symbols that need an example: types are shown by the functions that take them, options by their own. */
export const CODE_KINDS = new Set(['TSDeclareFunction', 'ClassDeclaration', 'VariableDeclaration'])

const NOTE = '<!-- Written by `npm run docs`; changes here are lost. -->'
const KINDS = [
  ['Functions', ['TSDeclareFunction']],
  ['Classes', ['ClassDeclaration']],
  ['Values', ['VariableDeclaration']],
  ['Types', ['TSInterfaceDeclaration', 'TSTypeAliasDeclaration', 'TSEnumDeclaration']],
]

/** The pages by their path. */
export function apiPages() {
  return Object.fromEntries(
    ENTRIES.map(([page, name, file]) => [`docs/api/${page}.md`, pageOf(name, symbolsOf(join(root, file)))]),
  )
}

/** What a file exports: name, doc comment, declaration. */
export function symbolsOf(file, seen = new Map()) {
  const found = new Map()
  for (const [name, { target, original }] of exportsOf(file, seen)) {
    const declared = declarations(target, seen).get(original)
    if (declared) found.set(name, { name, ...declared })
  }
  return [...found.values()].sort((a, b) => a.name.localeCompare(b.name, 'en'))
}

function pageOf(name, symbols) {
  const parts = KINDS.flatMap(([title, kinds]) => {
    const mine = symbols.filter(({ kind }) => kinds.includes(kind))
    return mine.length === 0 ? [] : [`## ${title}`, '', ...mine.flatMap(section)]
  })
  return [
    `# ${name}`,
    '',
    NOTE,
    '',
    'Every export, from the doc comments of the sources.',
    '',
    ...parts,
  ].join('\n')
}

function section({ name, about, examples, text }) {
  return [
    `### ${name}`,
    '',
    ...(about === '' ? [] : [about, '']),
    ...fenced(text),
    ...examples.flatMap((example) => ['For example:', '', ...fenced(example)]),
  ]
}

const fenced = (text) => ['```ts', text, '```', '']

/** Parsed once: its nodes and text. */
function sourceOf(file, seen) {
  if (!seen.has(file)) {
    const text = readFileSync(file, 'utf8')
    const plugins = [['typescript', { dts: true }]]
    seen.set(file, { text, body: parse(text, { sourceType: 'module', plugins }).program.body })
  }
  return seen.get(file)
}

/** Where each exported name is declared. */
function exportsOf(file, seen, open = new Set()) {
  const found = new Map()
  if (open.has(file)) return found
  open.add(file)
  const { body } = sourceOf(file, seen)
  const imported = importsOf(file, body)
  for (const node of body) {
    if (node.type === 'ExportAllDeclaration') {
      const target = fileOf(file, node.source.value)
      if (target) for (const [name, where] of exportsOf(target, seen, open)) found.set(name, where)
    }
    if (node.type !== 'ExportNamedDeclaration') continue
    for (const name of namesIn(node.declaration)) found.set(name, { target: file, original: name })
    for (const { local, exported } of node.specifiers ?? []) {
      const from = node.source ? fileOf(file, node.source.value) : undefined
      const [target, original] = from ? [from, local.name] : (imported.get(local.name) ?? [file, local.name])
      const where = exportsOf(target, seen, new Set(open)).get(original) ?? { target, original }
      found.set(exported.name, where)
    }
  }
  return found
}

function importsOf(file, body) {
  const found = new Map()
  for (const node of body) {
    if (node.type !== 'ImportDeclaration') continue
    const target = fileOf(file, node.source.value)
    for (const { local, imported } of node.specifiers)
      if (target && imported) found.set(local.name, [target, imported.name])
  }
  return found
}

/** The declaration file behind an import of ours; undefined for a package. */
function fileOf(from, source) {
  if (!source.startsWith('.')) return undefined
  const file = resolve(dirname(from), source).replace(/\.[jt]s$/, '.d.ts')
  return existsSync(file) ? file : undefined
}

function namesIn(declaration) {
  if (!declaration) return []
  if (declaration.type === 'VariableDeclaration') return declaration.declarations.map(({ id }) => id.name)
  return declaration.id ? [declaration.id.name] : []
}

function declarations(file, seen) {
  const { text, body } = sourceOf(file, seen)
  const found = new Map()
  for (const node of body) {
    const declaration = node.type === 'ExportNamedDeclaration' ? node.declaration : node
    for (const name of namesIn(declaration)) {
      const before = found.get(name)
      const { about, examples } = docOf(node)
      const own = text.slice(node.start, node.end).replace(/^export (?:declare )?/, '')
      found.set(name, {
        kind: declaration.type,
        // Overloads are one symbol.
        about: before?.about || about,
        examples: [...(before?.examples ?? []), ...examples],
        text: [...(before ? [before.text] : []), own].join('\n'),
      })
    }
  }
  return found
}

/** The doc comment right before a node: its text, and its examples. */
function docOf(node) {
  const comment = (node.leadingComments ?? []).findLast(
    ({ type, value }) => type === 'CommentBlock' && value.startsWith('*'),
  )
  const lines = (comment?.value ?? '').split('\n').map((line) => line.replace(/^\s*\*+ ?/, '').trimEnd())
  const [about = '', ...examples] = lines.join('\n').split(/^@example\s*$/m)
  return {
    about: about.trim().replace(/\{@link (\S+?)\}/g, '`$1`'),
    examples: examples.map((example) => example.replace(/^@\w+[\s\S]*$/m, '').trim()),
  }
}
