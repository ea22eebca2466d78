// packed.mjs: our packages as npm would publish them, and empty projects outside the workspace that have them installed.
// What such a project then does with them is consumer.mjs.
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { root } from '../ensure-install.mjs'
import { npm } from './on-demand.mjs'

const UNPACK_MS = 30_000

/** Packs every package of the workspace: `{ name, manifest, tarball, files, size, unpackedSize }` each. */
export function packAll(into) {
  const answer = npm(
    ['pack', '--workspaces', '--ignore-scripts', '--json', '--loglevel=error', '--pack-destination', into],
    root,
  )
  const packed = JSON.parse(answer).map(({ name, filename, files, size, unpackedSize }) => {
    const tarball = join(into, basename(filename))
    const manifest = JSON.parse(unpack(tarball, ['-O', 'package/package.json']))
    return { name, manifest, tarball, files, size, unpackedSize }
  })
  // npm packs a private one too, and refuses to publish it.
  return packed.filter(({ manifest }) => manifest.private !== true)
}

function unpack(tarball, args) {
  const done = spawnSync('tar', ['-xzf', tarball, ...args], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
    timeout: UNPACK_MS,
  })
  if (done.status !== 0) throw done.error ?? new Error(`${tarball} could not be unpacked.`)
  return done.stdout
}

/** A folder with an empty project in it and a home of its own; `remove` takes both away. */
export function emptyProject() {
  const top = mkdtempSync(join(tmpdir(), 'plugboard-packages-'))
  const project = join(top, 'project')
  for (const folder of ['home', 'project', 'tarballs']) mkdirSync(join(top, folder))
  writeFileSync(
    join(project, 'package.json'),
    '{ "name": "consumer", "version": "1.0.0", "private": true, "type": "module" }\n',
  )
  return {
    project,
    home: join(top, 'home'),
    tarballs: join(top, 'tarballs'),
    remove: () => rmSync(top, { recursive: true, force: true, maxRetries: 3 }),
  }
}

/** A real install: npm resolves and downloads the dependencies of the tarballs. */
export function installByNpm(project, packages, more = []) {
  const tarballs = packages.map(({ tarball }) => tarball)
  npm(['install', '--no-audit', '--no-fund', '--loglevel=error', ...tarballs, ...more], project)
}

/**
 * The same without a network, and stricter, in the layout that pnpm makes: each package finds what its own manifest names
 * and nothing that others happen to bring. Third parties are taken from the workspace, or left out (`without`).
 */
export function installStrictly(project, packages, { without = false } = {}) {
  const modules = join(project, 'node_modules')
  const besides = (name) => join(modules, '.store', name.replace('/', '+'), 'node_modules')
  for (const { name, tarball } of packages) {
    mkdirSync(join(besides(name), name), { recursive: true })
    unpack(tarball, ['-C', join(besides(name), name), '--strip-components=1'])
    link(join(besides(name), name), join(modules, name))
  }
  if (without) return
  const ours = new Set(packages.map(({ name }) => name))
  for (const { name, manifest } of packages) {
    const { dependencies, optionalDependencies, peerDependencies, bin } = manifest
    for (const one of Object.keys({ ...dependencies, ...optionalDependencies, ...peerDependencies })) {
      const target = ours.has(one) ? join(besides(one), one) : folderOf(one, name)
      if (target) link(target, join(besides(name), one))
      // This platform may have no build of an optional package.
      else if (dependencies?.[one])
        throw new Error(`${one} is not in the workspace; run \`npm install\` there.`)
    }
    for (const [command, path] of Object.entries(bin ?? {}))
      link(join(modules, name, path), join(modules, '.bin', command))
  }
  link(folderOf('@types/node'), join(modules, '@types/node'))
}

function link(target, at) {
  mkdirSync(dirname(at), { recursive: true })
  symlinkSync(target, at, 'junction')
}

/** Where the workspace has a package, seen from one of ours: npm may have put a copy of its own beside it. */
function folderOf(name, from) {
  const seen = createRequire(join(root, from ? join('node_modules', from) : '', 'package.json'))
  for (const modules of seen.resolve.paths(name) ?? []) {
    const folder = join(modules, name)
    try {
      readFileSync(join(folder, 'package.json'))
      return folder
    } catch {
      // Not here; perhaps further out.
    }
  }
  return undefined
}
