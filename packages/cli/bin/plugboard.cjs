#!/usr/bin/env node
// Newer Node versions keep compiled code between runs; older ones have no such function.
require('node:module').enableCompileCache?.()
const { main } = require('../dist/main.cjs')

main(process.argv.slice(2), (name) => import(`../dist/board-verbs/${name}.js`)).then((code) => {
  process.exitCode = code
})
