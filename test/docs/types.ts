// types.ts: the ts blocks of the pages as programs against the built packages: checked all at once, run one by one.
import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { transform } from 'esbuild'
import type { Block } from './blocks.ts'
import { type Place, ROOT } from './place.ts'

/** TypeScript's errors in the blocks, with page and line; empty when there are none. */
export async function typeErrors(blocks: readonly Block[]): Promise<string> {
  if (blocks.length === 0) return ''
  const folder = mkdtempSync(join(tmpdir(), 'plugboard-docs-types-'))
  try {
    symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
    writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
    const { compilerOptions } = { compilerOptions: { noEmit: true, typeRoots: ['node_modules/@types'] } }
    const config = { extends: join(ROOT, 'tsconfig.base.json'), compilerOptions, include: ['*.ts'] }
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config))
    for (const block of blocks) {
      // Blank lines in front, so that a message names the line of the page.
      const text = `${'\n'.repeat(block.line)}${block.lines.join('\n')}\nexport {}\n`
      writeFileSync(join(folder, `${nameOf(block)}.ts`), text)
    }
    const tsc = join(ROOT, 'node_modules/typescript/bin/tsc')
    return await new Promise<string>((done) => {
      execFile(
        process.execPath,
        [tsc, '-p', folder],
        { cwd: folder, timeout: 60_000 },
        (error, stdout, stderr) => done(error ? stdout + stderr || String(error) : ''),
      )
    })
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** The command that runs a block in its place. */
export async function program(block: Block, text: string, place: Place): Promise<string> {
  const { code } = await transform(text, { loader: 'ts', format: 'esm', target: 'node20' })
  const folder = join(place.home, '.blocks')
  mkdirSync(folder, { recursive: true })
  const file = join(folder, `${nameOf(block)}.mjs`)
  writeFileSync(file, code)
  return `node ${file}`
}

function nameOf({ page, line }: Block): string {
  return `${page.replace(/\W/g, '-')}-${line}`
}
