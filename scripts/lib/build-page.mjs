// build-page.mjs: builds the page of the board with Vite, in a process of its own: a test runner's NODE_ENV would make it a
// development build.
import { writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { build } from 'vite'
import { root } from '../ensure-install.mjs'
import { noticesFor } from './notices.mjs'

const web = join(root, 'packages/web')
const inputs = new Set()
await build({
  configFile: join(web, 'vite.config.ts'),
  plugins: [
    {
      name: 'inputs',
      moduleParsed: ({ id }) => void inputs.add(relative(root, id.replace(/^\0/, '').split('?')[0])),
    },
  ],
})
// What the page consists of keeps its authors' terms.
writeFileSync(join(web, 'dist/THIRD-PARTY.txt'), noticesFor(inputs, root))
