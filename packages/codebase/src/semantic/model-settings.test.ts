import { describe, expect, it } from 'vitest'
import { embeddingsFrom } from './model-settings.ts'

const URL = 'http://127.0.0.1:1/v1'

describe('the choice of a model', () => {
  it.each([
    ['nothing said', {}, undefined, undefined],
    ['a folder', { PLUGBOARD_EMBEDDINGS_MODEL: '/m' }, undefined, { kind: 'onnx', folder: '/m' }],
    ['none', { PLUGBOARD_EMBEDDINGS_MODEL: 'none' }, undefined, { kind: 'none' }],
    [
      'an endpoint',
      {
        PLUGBOARD_EMBEDDINGS_URL: URL,
        PLUGBOARD_EMBEDDINGS_MODEL: 'm',
        PLUGBOARD_EMBEDDINGS_DIMENSIONS: '768',
        PLUGBOARD_EMBEDDINGS_KEY: 'k',
      },
      undefined,
      { kind: 'endpoint', url: URL, model: 'm', dimensions: 768, apiKey: 'k' },
    ],
    [
      'a flag before the environment',
      { PLUGBOARD_EMBEDDINGS_URL: URL, PLUGBOARD_ONNX_RUNTIME: '/r' },
      '/m',
      { kind: 'onnx', folder: '/m', runtime: '/r' },
    ],
  ])('%s', (_, env, model, choice) => {
    expect(embeddingsFrom(env, { model })).toEqual(choice)
  })

  it('is refused when an endpoint lacks its model or its dimensions', () => {
    expect(() => embeddingsFrom({ PLUGBOARD_EMBEDDINGS_URL: URL })).toThrow('PLUGBOARD_EMBEDDINGS_MODEL')
    expect(() =>
      embeddingsFrom({
        PLUGBOARD_EMBEDDINGS_URL: URL,
        PLUGBOARD_EMBEDDINGS_MODEL: 'm',
        PLUGBOARD_EMBEDDINGS_DIMENSIONS: 'x',
      }),
    ).toThrow('DIMENSIONS')
    expect(() => embeddingsFrom({ PLUGBOARD_EMBEDDINGS_MODEL: 'models/mine' })).toThrow('absolute')
  })
})
