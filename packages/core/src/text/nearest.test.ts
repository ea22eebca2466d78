import { describe, expect, it } from 'vitest'
import { nearest } from './nearest.ts'

describe('the nearest word', () => {
  const known = ['list', 'ls', 'tools', 'doctor', 'approve', 'call']

  it.for([
    ['lsit', 'list'],
    ['tols', 'tools'],
    ['doctr', 'doctor'],
    ['aprove', 'approve'],
    ['CALL', 'call'],
  ] as const)('to %s is %s', ([typed, meant]) => {
    expect(nearest(typed, known)).toBe(meant)
  })

  it('is none for a word that is like no other', () => {
    for (const word of ['foo', 'x', '', 'deploy', 'listening']) expect(nearest(word, known)).toBeUndefined()
  })
})
