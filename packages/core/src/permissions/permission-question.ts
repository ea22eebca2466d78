// permission-question.ts: a permission prompt as the user reads it. Every surface uses it: the chat, `serve --ask=elicit`.

import { exactLine, nameText, quoted } from '../text/escape-controls.ts'
import {
  type LayoutOptions,
  type QuestionParts,
  type QuestionText,
  questionText,
} from '../text/question-text.ts'
import type { ToolRequest } from './decision-types.ts'
import type { PermissionQuestion } from './gate.ts'

/** The parts of a prompt that are shown. */
export type Asked = Pick<PermissionQuestion, 'request' | 'reason' | 'arguments' | 'saves'>

/** What would be called, how dangerous the server says it is, why it needs permission, and every argument. */
export function permissionQuestion(
  { request, reason, arguments: args, saves }: Asked,
  layout: LayoutOptions = {},
): QuestionText {
  const { server, tool, title, resource, changes, preview } = request
  const source = reason.source === undefined ? '' : ` (${exactLine(reason.source)})`
  const isEmpty = args === undefined || (typeof args === 'object' && Object.keys(args ?? {}).length === 0)
  return questionText(
    {
      head: `Allow ${resource ? 'reading' : 'calling'} ${nameText(server)}: ${nameText(tool)}?`,
      tone: toneOf(request),
      notes: [
        ...(title === undefined || title === tool ? [] : [`title: ${quoted(title.slice(0, 200))}`]),
        `Asked because ${exactLine(reason.text)}${source}.`,
        ...(saves ? [alwaysNote(saves)] : []),
        ...(changes ? ['Its definition changed since you accepted it:'] : []),
        ...(preview?.notes ?? []).map(exactLine),
        ...(isEmpty && !resource && !preview?.changes ? ['no arguments'] : []),
      ],
      // The differences say all that the arguments do, and what is there now.
      ...(preview?.changes ? { files: preview.changes } : !isEmpty && { values: args }),
      changes,
    },
    layout,
  )
}

function alwaysNote({ rule, file }: NonNullable<PermissionQuestion['saves']>): string {
  return `"always" adds ${nameText(rule)} to permissions.allow in ${file === undefined ? 'your settings' : exactLine(file)}.`
}

function toneOf({ resource, traits, saysDestructive }: ToolRequest): QuestionParts['tone'] {
  if (resource) return undefined
  if (traits.readOnly) return { role: 'read-only', text: 'read-only, as the server says' }
  if (saysDestructive)
    return { role: 'destructive', text: 'DESTRUCTIVE: the server says that it may delete or overwrite.' }
  if (traits.destructive)
    return { role: 'writes', text: 'may change or delete: the server does not say that it does neither' }
  return { role: 'writes', text: 'adds or changes, as the server says, and deletes nothing' }
}
