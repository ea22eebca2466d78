// transports.mjs: building blocks that most misbehaviours share.
export const MIB = 1024 * 1024

export const text = (value) => ({ content: [{ type: 'text', text: value }] })

/** Takes over every call of the tools where a misbehaviour shows. */
export const onCall = (work) => ({
  call: (ways) => {
    work(ways)
    return true
  },
})
