#!/usr/bin/env node
// Newer Node versions keep compiled code between runs; older ones have no such function.
require('node:module').enableCompileCache?.()
// To `serve` this signal means "read everything again"; before it can, the signal must not end it.
if (process.argv[2] === 'serve') process.on('SIGHUP', () => undefined)
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
const { main } = require('../dist/main.cjs')

main(process.argv.slice(2), async (name) =>
  LIGHT.has(name) ? require(`../dist/light-${name}.cjs`) : import(`../dist/board-verbs/${name}.js`),
).then((code) => {
  process.exitCode = code
})
