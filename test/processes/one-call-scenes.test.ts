// Every scene of a server with a fault, met by one call in a process of its own. The processes mostly wait, so the ways of one
// scene run side by side.
import { describe, expect, it } from 'vitest'
import { WAY_NAMES } from './kit.ts'
import { playScene, SCENES } from './scenes.ts'

describe.each(SCENES)('a server that $name', (scene) => {
  it.concurrent.each(WAY_NAMES)('by %s', async (way) => {
    expect(await playScene(scene, way)).toEqual([])
  })
})

describe('with the input of the terminal', () => {
  const scene = SCENES.find(({ name }) => name === 'exits once inside a read-only call')

  it.concurrent.each(WAY_NAMES)('a server that exits once inside a call is answered by %s', async (way) => {
    if (!scene) throw new Error('the scene is gone')
    expect(await playScene(scene, way, { stdin: 'inherited' })).toEqual([])
  })
})
