#!/usr/bin/env node
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
const argv = process.argv.slice(2)
// To `serve` this signal means "read everything again"; before it can, the signal must not end it.
if (argv.find((word) => !word.startsWith('-')) === 'serve') process.on('SIGHUP', () => undefined)

let keepsCode

/** Compiled code is kept between runs: by Node where it can, by us in older versions. */
function load(name) {
  const file = `${__dirname}/../dist/${name}.cjs`
  if (keepsCode === undefined) {
    const { enableCompileCache } = require('node:module')
    enableCompileCache?.()
    keepsCode = enableCompileCache !== undefined
  }
  return (keepsCode ? undefined : require('./code-cache.cjs').loadCached(file)) ?? require(file)
}

const loadVerb = async (name) =>
  LIGHT.has(name) ? load(`light-${name}`) : import(`../dist/board-verbs/${name}.js`)

/** The resident process does it where it can; so little is loaded for that that no compiled code is kept. */
async function run() {
  const isConnect = argv.length === 1 && argv[0] === 'connect'
  const { thin } = isConnect ? require('../dist/thin-connect.cjs') : require('../dist/thin.cjs')
  const ran = await thin(argv)
  process.exitCode =
    ran.kind === 'exit' ? ran.code : await load('main').main(argv, loadVerb, { lost: ran.call })
}

run()
