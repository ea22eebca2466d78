// code-cache.cjs: loads a bundle with the compiled code of an earlier run, on Node versions that cannot do so themselves. The
// cache is a folder of the user below the temporary folder; what is not the user's own is neither read nor written.
const fs = require('node:fs')
const { createRequire } = require('node:module')
const path = require('node:path')
const vm = require('node:vm')

const uid = process.getuid?.()
const folder = path.join(process.env.TMPDIR || '/tmp', `plugboard-code-${uid}`)

/** Undefined where it does not work; the caller loads the bundle in the ordinary way. */
exports.loadCached = (file) => {
  if (uid === undefined || !isOwnFolder()) return undefined
  const source = fs.readFileSync(file, 'utf8')
  // The build writes the hash of a bundle into its first line: V8 itself compares no more than the length.
  const [, hash] = /^\/\*([0-9a-f]{32})\*\//.exec(source) ?? []
  if (hash === undefined) return undefined
  const kept = path.join(folder, `${path.basename(file)}-${process.version}-${hash}`)
  const cachedData = readOwn(kept)
  const script = new vm.Script(`(function(exports,require,module,__filename,__dirname){${source}\n})`, {
    filename: file,
    cachedData,
  })
  const module = { exports: {} }
  script.runInThisContext()(module.exports, createRequire(file), module, file, path.dirname(file))
  // After the run, so that it has the functions that were used.
  if (cachedData === undefined || script.cachedDataRejected) process.once('exit', () => keep(kept, script))
  return module.exports
}

function isOwnFolder() {
  try {
    fs.mkdirSync(folder, { mode: 0o700 })
  } catch {
    // It is there, or cannot be made: the next check tells.
  }
  const info = fs.lstatSync(folder, { throwIfNoEntry: false })
  return info?.isDirectory() === true && info.uid === uid && (info.mode & 0o077) === 0
}

function readOwn(file) {
  try {
    const { O_RDONLY, O_NOFOLLOW } = fs.constants
    const fd = fs.openSync(file, O_RDONLY | O_NOFOLLOW)
    try {
      const info = fs.fstatSync(fd)
      return info.isFile() && info.uid === uid ? fs.readFileSync(fd) : undefined
    } finally {
      fs.closeSync(fd)
    }
  } catch {
    return undefined
  }
}

function keep(file, script) {
  const draft = `${file}.${process.pid}`
  try {
    fs.writeFileSync(draft, script.createCachedData(), { mode: 0o600, flag: 'wx' })
    fs.renameSync(draft, file)
    const own = path.basename(file)
    const stem = own.slice(0, own.lastIndexOf('-') + 1)
    // Those of earlier builds.
    for (const name of fs.readdirSync(folder))
      if (name.startsWith(stem) && name !== own) fs.rmSync(path.join(folder, name), { force: true })
  } catch {
    // A full or read-only disk: the next run compiles again.
  }
}
