// tools.mjs: what every peer offers. `odd` and `odd-write` are where its habit shows; the second says nothing of being safe.
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
