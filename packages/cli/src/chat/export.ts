// export.ts: a conversation as a Markdown file.
import { type Message, textOf } from '@plugboard/agent'

export function asMarkdown(messages: readonly Message[], model: string): string {
  return [`# A conversation with ${model}`, ...messages.flatMap(messageText)].join('\n\n').concat('\n')
}

function messageText(message: Message): readonly string[] {
  switch (message.role) {
    case 'user':
      return ['## You', textOf(message.content)]
    case 'assistant':
      return [
        ...(message.text.trim() === '' ? [] : ['## Model', message.text.trim()]),
        ...message.calls.map(
          ({ name, arguments: args }) => `**${name}**\n\n${fenced(JSON.stringify(args, null, 2), 'json')}`,
        ),
      ]
    case 'results':
      return message.results.map(
        ({ name, isError, content }) =>
          `${isError ? 'Error' : 'Result'} of **${name}**:\n\n${fenced(textOf(content), '')}`,
      )
  }
}

/** A fence that is longer than any inside. */
function fenced(text: string, language: string): string {
  const longest = Math.max(2, ...(text.match(/`+/g) ?? []).map(({ length }) => length))
  const fence = '`'.repeat(longest + 1)
  return `${fence}${language}\n${text}\n${fence}`
}
