// tools.mjs: the tools of every peer. `odd` and `odd-write` are where its misbehaviour shows; the second is not marked as safe to repeat.
const tool = (name, annotations) => ({
  name,
  description: name,
  inputSchema: { type: 'object' },
  ...(annotations && { annotations }),
})

export const TOOLS = [
  tool('echo', { readOnlyHint: true }),
  tool('write'),
  tool('wait', { readOnlyHint: true }),
  tool('odd', { readOnlyHint: true }),
  tool('odd-write'),
]
