// index/ignore-stamp.ts: notices when the ignore rules may have changed, in places the watcher does not cover: above the root,
// inside .git, and in the user's own git configuration.
import { statSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'

const RULE_FILES = new Set(['.gitignore', '.ignore', '.rgignore', '.git'])

/** A change to such a path changes which files count. */
export function isRuleFile(path: string): boolean {
  return RULE_FILES.has(path.slice(path.lastIndexOf('/') + 1))
}

/** Two equal results mean that no rule outside the tree changed in between. */
export function rulesStamp(root: string, env: NodeJS.ProcessEnv = process.env): string {
  const config = env['XDG_CONFIG_HOME'] || join(homedir(), '.config')
  const places = [
    join(root, '.git', 'info', 'exclude'),
    join(root, '.git', 'config'),
    join(config, 'git', 'ignore'),
    join(config, 'git', 'config'),
    join(homedir(), '.gitconfig'),
  ]
  for (let folder = dirname(root), above = root; folder !== above; above = folder, folder = dirname(folder))
    places.push(...[...RULE_FILES].map((name) => join(folder, name)))
  return places
    .map((place) => {
      const found = statSync(place, { throwIfNoEntry: false })
      return found ? `${found.mtimeMs}/${found.size}` : '-'
    })
    .join(' ')
}
