#!/usr/bin/env node
// Compiled code is kept between runs: by Node where it can, by us in older versions.
const { enableCompileCache } = require('node:module')
enableCompileCache?.()
const { loadCached } = enableCompileCache ? {} : require('./code-cache.cjs')
const load = (name) => loadCached?.(`${__dirname}/../dist/${name}.cjs`) ?? require(`../dist/${name}.cjs`)
// To `serve` this signal means "read everything again"; before it can, the signal must not end it.
if (process.argv.slice(2).find((word) => !word.startsWith('-')) === 'serve')
  process.on('SIGHUP', () => undefined)
// Verbs that load no board when the resident process has one.
const LIGHT = new Set([
  'call',
  'connect',
  'down',
  'list',
  'prompt',
  'prompts',
  'read',
  'reconnect',
  'resources',
  'status',
  'tools',
])
const { main } = load('main')

main(process.argv.slice(2), async (name) =>
  LIGHT.has(name) ? load(`light-${name}`) : import(`../dist/board-verbs/${name}.js`),
).then((code) => {
  process.exitCode = code
})
