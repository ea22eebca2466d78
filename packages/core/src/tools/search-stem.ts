// search-stem.ts: words without their endings, so that forms of one word are one search term.

/** Removes common endings, so that `merging`, `merged` and `merges` are one term. */
export function stem(word: string): string {
  if (word.length < 4) return word
  let end = word
  if (end.endsWith('ies') && end.length > 4) end = `${end.slice(0, -3)}y`
  else if (/(?:ss|x|ch|sh|z)es$/.test(end)) end = end.slice(0, -2)
  else if (end.endsWith('s') && !/(?:ss|us|sis|xis)$/.test(end)) end = end.slice(0, -1)
  for (const ending of ['ing', 'ed'])
    if (
      end.endsWith(ending) &&
      end.length - ending.length >= 3 &&
      /[aeiouy]/.test(end.slice(0, -ending.length))
    ) {
      end = end.slice(0, -ending.length)
      if (/([b-df-hj-km-np-rtv-z])\1$/.test(end)) end = end.slice(0, -1)
      break
    }
  // `transcription` and `transcript`, `approval` and `approve` are one term.
  if (/[a-z]{4}[st]ion$/.test(end)) end = end.slice(0, -3)
  else if (/[a-z]{4}[vnw]al$/.test(end)) end = end.slice(0, -2)
  return end.length > 3 && end.endsWith('e') ? end.slice(0, -1) : end
}
