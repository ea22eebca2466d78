// table.ts: every tested fault, one entry each; the full run and the everyday tests read the same table.
import type { Fault } from './fault.ts'
import { ANSWERS } from './table/answers.ts'
import { COMING_UP } from './table/coming-up.ts'
import { LINE } from './table/line.ts'
import { MODERN } from './table/modern.ts'
import { PROCESS } from './table/process.ts'
import { WEB } from './table/web.ts'

export const GROUPS: readonly { readonly title: string; readonly faults: readonly Fault[] }[] = [
  { title: 'Coming up', faults: COMING_UP },
  { title: 'Answers', faults: ANSWERS },
  { title: 'Manners', faults: PROCESS },
  { title: 'HTTP and its kin', faults: WEB },
  { title: 'The line', faults: LINE },
  { title: '2026-07-28', faults: MODERN },
]
