// Runs between the command and a real server, and records what the server is sent: `node tee.mjs LOG SCRIPT …`.
import { spawn } from 'node:child_process'
import { appendFileSync } from 'node:fs'

const [log, ...command] = process.argv.slice(2)
const server = spawn(process.execPath, command, { stdio: ['pipe', 'inherit', 'inherit'] })
process.stdin.on('data', (chunk) => {
  appendFileSync(log, chunk)
  server.stdin.write(chunk)
})
process.stdin.on('end', () => server.stdin.end())
server.on('exit', (code) => process.exit(code ?? 0))
