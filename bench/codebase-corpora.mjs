// The trees the codebase benchmark measures, fetched by package name from Debian or npm and kept in a cache outside the
// repository (PLUGBOARD_BENCH_DIR). Trees that cannot be fetched are named, and the part that needs them is left out.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'

export const benchDir = process.env.PLUGBOARD_BENCH_DIR || join(tmpdir(), 'plugboard-bench')

function run(command, args, cwd) {
  const done = spawnSync(command, args, { cwd, encoding: 'utf8', maxBuffer: 1 << 26 })
  if (done.status !== 0)
    throw new Error(
      `${command} ${args.join(' ')} failed: ${(done.stderr || done.error?.message || '').trim().split('\n').at(-1)}`,
    )
  return done.stdout
}

/** A folder made by `fill` once; a half-made one is made again. */
function once(name, fill) {
  const folder = join(benchDir, name)
  if (existsSync(folder)) return folder
  const draft = `${folder}.draft`
  rmSync(draft, { recursive: true, force: true })
  mkdirSync(draft, { recursive: true })
  fill(draft)
  renameSync(draft, folder)
  return folder
}

/** Unpacks a Debian package, and the archives of source code inside it. */
function debian(name, folder) {
  run('apt-get', ['download', name], folder)
  const file = readdirSync(folder).find((entry) => entry.endsWith('.deb'))
  run('dpkg-deb', ['-x', file, 'package'], folder)
  rmSync(join(folder, file))
  for (const path of walk(join(folder, 'package')))
    if (/\.tar\.(xz|gz|bz2)$/.test(path) && !path.includes('/testdata/')) {
      run('tar', ['-xf', path], dirname(path))
      rmSync(path)
    } else if (path.endsWith('/src.zip')) {
      run('unzip', ['-q', path, '-d', join(dirname(path), 'src')], folder)
      rmSync(path)
    }
}

function npm(name, folder) {
  run('npm', ['pack', '--silent', name], folder)
  const file = readdirSync(folder).find((entry) => entry.endsWith('.tgz'))
  run('tar', ['-xzf', file], folder)
  rmSync(join(folder, file))
}

export function* walk(folder) {
  for (const item of readdirSync(folder, { withFileTypes: true }).sort((a, b) =>
    a.name < b.name ? -1 : 1,
  )) {
    const path = join(folder, item.name)
    if (item.isDirectory()) yield* walk(path)
    else if (item.isFile()) yield path
  }
}

/** A real tree of more than 100,000 files: the sources of Linux and of GCC. */
export function largeTree() {
  return once('large-tree', (folder) => {
    for (const name of ['linux-source-6.1', 'gcc-12-source']) {
      mkdirSync(join(folder, name))
      debian(name, join(folder, name))
    }
  })
}

/**
 * Where the documented functions come from. Whatever is chosen by looking at figures (weights, the parts of a chunk's vector)
 * is chosen on those that are `tuned`; the others are only ever measured.
 */
export const REPOSITORIES = [
  {
    name: 'django',
    language: 'python',
    tuned: true,
    ending: '.py',
    fetch: (folder) => debian('python3-django', folder),
  },
  {
    name: 'go',
    language: 'go',
    tuned: true,
    ending: '.go',
    fetch: (folder) => debian('golang-1.19-src', folder),
  },
  {
    name: 'three',
    language: 'javascript',
    tuned: true,
    ending: '.js',
    within: 'package/src/',
    fetch: (folder) => npm('three@0.180.0', folder),
  },
  // Mostly overloaded declarations without a body: the hard case, kept because it is one.
  {
    name: 'effect',
    language: 'typescript',
    tuned: true,
    ending: '.ts',
    fetch: (folder) => npm('effect@3.18.4', folder),
  },
  {
    name: 'sqlalchemy',
    language: 'python',
    ending: '.py',
    fetch: (folder) => debian('python3-sqlalchemy', folder),
  },
  {
    name: 'matrix-js-sdk',
    language: 'typescript',
    ending: '.ts',
    within: 'package/src/',
    fetch: (folder) => npm('matrix-js-sdk@34.13.0', folder),
  },
  {
    name: 'openjdk',
    language: 'java',
    ending: '.java',
    within: '/java.base/',
    fetch: (folder) => debian('openjdk-17-source', folder),
  },
  {
    name: 'rust',
    language: 'rust',
    ending: '.rs',
    within: '/library/',
    fetch: (folder) => debian('rust-src', folder),
  },
]

/**
 * Documented functions and a copy of their files without the documentation. Which files are taken is fixed by a hash of their
 * path, so that every run asks the same questions.
 */
export function documentedFunctions(repository, { queries, bytes }) {
  const source = once(`source-${repository.name}`, repository.fetch)
  const files = [...walk(source)]
    .filter(
      (path) =>
        path.endsWith(repository.ending) &&
        (!repository.within || path.includes(repository.within)) &&
        !/[._-]test\.|\/tests?\/|\/testdata\/|\/dist\/|\.d\.ts$|\/build\//.test(path),
    )
    .sort((a, b) => order(relative(source, a)) - order(relative(source, b)))
  const pairs = []
  const texts = new Map()
  let total = 0
  for (const path of files) {
    const text = readFileSync(path, 'utf8')
    if (total >= bytes && pairs.length >= queries) break
    if (text.length > 200_000 || total + text.length > 2 * bytes) continue
    total += text.length
    const name = relative(source, path)
    const found = STRIP[repository.language](text)
    texts.set(name, found.text)
    for (const pair of found.pairs) pairs.push({ ...pair, file: name })
  }
  const folder = join(benchDir, `stripped-${repository.folder ?? repository.name}`)
  if (existsSync(folder))
    for (const path of walk(folder)) if (!texts.has(relative(folder, path))) rmSync(path)
  for (const [name, text] of texts) {
    const path = join(folder, name)
    // An unchanged file keeps its time, and so its entry in the index of an earlier run.
    if (existsSync(path) && readFileSync(path, 'utf8') === text) continue
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, text)
  }
  const chosen = pairs
    .sort((a, b) => order(`${a.file}:${a.line}`) - order(`${b.file}:${b.line}`))
    .slice(0, queries)
  return { folder, pairs: chosen, files: texts.size }
}

function order(text) {
  let hash = 2166136261
  for (let n = 0; n < text.length; n++) hash = Math.imul(hash ^ text.charCodeAt(n), 16777619)
  hash ^= hash >>> 15
  hash = Math.imul(hash, 0x2c1b3c6d)
  return (hash ^ (hash >>> 12)) >>> 0
}

/** The first sentence, if it has four words or more. */
function question(text) {
  const plain = text.replace(/\s+/g, ' ').trim()
  const sentence = /^.*?[.!?](?=\s|$)/.exec(plain)?.[0] ?? plain
  const words = sentence.split(' ')
  return words.length >= 4 && words.length <= 60 && /^[\x20-\x7e]+$/.test(sentence) ? sentence : undefined
}

/** Removes [start, end) of each pair from the text; `line` becomes the line its function begins on afterwards. */
function without(text, found) {
  let result = ''
  let from = 0
  const pairs = []
  for (const { start, end, at, query } of found) {
    if (start < from) continue
    result += text.slice(from, start)
    const gone = text.slice(start, end)
    from = end
    pairs.push({
      query,
      position: at < start ? result.length - (start - at) : result.length + (at - end),
      gone,
    })
  }
  result += text.slice(from)
  return {
    text: result,
    pairs: pairs.map(({ query, position }) => ({
      query,
      line: result.slice(0, position).split('\n').length,
    })),
  }
}

/** The words of a comment between stars, up to its first empty line or tag. */
function starred(comment) {
  const words = comment
    .replace(/^\s*\* ?/gm, '')
    .trim()
    .split(/\n\s*\n|\n\s*@|<p>/)[0]
  return words.startsWith('@') ? undefined : words
}

/**
 * For languages with the comment before the function: the pattern's first group is the comment, `wordsOf` the part of it that is
 * used as the question, `between` what separates the comment and the function.
 */
function commented(pattern, wordsOf, between = () => '') {
  return (text) => {
    const found = []
    for (const match of text.matchAll(pattern)) {
      const words = wordsOf(match)
      const query = words && question(words)
      if (!query) continue
      const end = match.index + match[1].length
      found.push({ start: match.index, end, at: end + between(match).length, query })
    }
    return without(text, found)
  }
}

const STRIP = {
  python(text) {
    const found = []
    for (const match of text.matchAll(
      /^([ \t]*)(?:async )?def \w+\([^)]*\)[^:\n]*:\n([ \t]+(?:r|u)?"""([\s\S]*?)"""[ \t]*\n)/gm,
    )) {
      const query = question(match[3].split(/\n\s*\n/)[0])
      const start = match.index + match[0].length - match[2].length
      if (query)
        found.push({ start, end: match.index + match[0].length, at: match.index + match[1].length, query })
    }
    return without(text, found)
  },
  go: commented(/((?:^\/\/[^\n]*\n)+)^func (?:\([^)]*\) )?(\w+)/gm, ([, comment, name]) =>
    comment
      .replace(/^\/\/ ?/gm, '')
      .split(/\n\s*\n/)[0]
      .replace(new RegExp(`^${name} `), ''),
  ),
  /** Functions and methods with a body. */
  javascript: commented(
    /(^[ \t]*\/\*\*([\s\S]*?)\*\/\n)[ \t]*(?:export )?(?:static )?(?:async )?(?:function )?(?:get |set )?(?!if|for|while|switch|return|constructor)\w+\s*\([^)]*\)\s*\{/gm,
    ([, , inner]) => {
      if (inner.includes('/**')) return undefined
      const words = inner
        .replace(/^\s*\* ?/gm, '')
        .trim()
        .split(/\n\s*\n|\n\s*@/)[0]
      return words.startsWith('@') ? undefined : words
    },
  ),
  /** Methods, with or without annotations between the comment and the name. */
  java: commented(
    /(^[ \t]*\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\n)((?:[ \t]*@[^\n]*\n)*)[ \t]*(?:(?:public|protected|private|static|final|abstract|native|synchronized|default|strictfp) )*(?:<[^\n(]*> )?[\w.<>[\], ?]+ \w+\([^)]*\)[^;{]*\{/gm,
    ([, , inner]) => starred(inner)?.replace(/\{@\w+ ([^}]*)\}|<[^>]*>/g, '$1'),
    ([, , , annotations]) => annotations,
  ),
  rust: commented(
    /((?:^[ \t]*\/\/\/[^\n]*\n)+)((?:^[ \t]*#\[[^\n]*\n)*)^[ \t]*(?:pub(?:\([^)]*\))? )?(?:default )?(?:const )?(?:async )?(?:unsafe )?(?:extern "[^"]*" )?fn \w+/gm,
    ([, comment]) => comment.replace(/^[ \t]*\/\/\/ ?/gm, '').split(/\n\s*\n/)[0],
    ([, , attributes]) => attributes,
  ),
  typescript: commented(
    /(^[ \t]*\/\*\*([\s\S]*?)\*\/\n)[ \t]*(?:(?:export|public|private|protected|static|override|async) )*(?:function |const \w+\s*[:=]|\w+(?:<[^\n(]*>)?\([^)]*\)[^;\n]*\{)/gm,
    ([, , inner]) =>
      inner.includes('/**') ? undefined : inner.replace(/^\s*\* ?/gm, '').split(/\n\s*\n|\n\s*@|\*\*/)[0],
  ),
}
