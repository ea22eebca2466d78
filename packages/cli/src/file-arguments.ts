// file-arguments.ts: does a word of the command line name a file, or the standard input, of the process that was typed?

/** `key=@file`, and the `@file` of `--key @file`. */
export const namesFile = (word: string) => word.startsWith('@') || word.includes('=@')
