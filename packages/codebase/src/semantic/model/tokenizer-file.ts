// semantic/model/tokenizer-file.ts: the rules of a `tokenizer.json` of a sentence encoder. Only WordPiece is read; rules
// that cannot be followed exactly are refused with a reason, because a text cut differently gives useless vectors.
import { CodebaseError } from '../../errors.ts'
import type { WordPieceRules } from './tokenizer.ts'

interface Typed {
  readonly type?: string
}

interface TokenizerFile {
  readonly model?: Typed & {
    readonly vocab?: Readonly<Record<string, number>>
    readonly unk_token?: string
    readonly continuing_subword_prefix?: string
    readonly max_input_chars_per_word?: number
  }
  readonly normalizer?:
    | (Typed & {
        readonly clean_text?: boolean
        readonly handle_chinese_chars?: boolean
        readonly strip_accents?: boolean | null
        readonly lowercase?: boolean
      })
    | null
  readonly pre_tokenizer?: Typed | null
  readonly post_processor?:
    | (Typed & {
        readonly cls?: readonly [string, number]
        readonly sep?: readonly [string, number]
        readonly single?: readonly {
          readonly SpecialToken?: { readonly id: string }
          readonly Sequence?: object
        }[]
        readonly special_tokens?: Readonly<Record<string, { readonly ids: readonly number[] }>>
      })
    | null
}

export function wordPieceRules(json: string, path: string): WordPieceRules {
  const file = parse(json, path)
  const { model, normalizer, pre_tokenizer: words } = file
  if (model?.type !== 'WordPiece' || !model.vocab)
    throw unsupported(path, `a ${model?.type ?? 'nameless'} model`)
  if (normalizer?.type !== 'BertNormalizer')
    throw unsupported(path, `the normalizer ${normalizer?.type ?? 'none'}`)
  if (words?.type !== 'BertPreTokenizer')
    throw unsupported(path, `the pre-tokenizer ${words?.type ?? 'none'}`)
  const vocabulary = new Map(Object.entries(model.vocab))
  const unknown = vocabulary.get(model.unk_token ?? '[UNK]')
  if (unknown === undefined) throw unsupported(path, 'a vocabulary without its unknown token')
  const lowercase = normalizer.lowercase !== false
  return {
    vocabulary,
    lowercase,
    // BERT's rule: unless said otherwise, accents go when case goes.
    stripAccents: normalizer.strip_accents ?? lowercase,
    splitChinese: normalizer.handle_chinese_chars !== false,
    prefix: model.continuing_subword_prefix ?? '##',
    unknown,
    maxWord: model.max_input_chars_per_word ?? 100,
    ...marksOf(file, path),
  }
}

/** What is put before and after a single text. */
function marksOf(file: TokenizerFile, path: string): Pick<WordPieceRules, 'begin' | 'end'> {
  const processor = file.post_processor
  if (!processor) return { begin: [], end: [] }
  if (processor.type === 'BertProcessing' && processor.cls && processor.sep)
    return { begin: [processor.cls[1]], end: [processor.sep[1]] }
  if (processor.type !== 'TemplateProcessing' || !processor.single)
    throw unsupported(path, `the post-processor ${processor.type ?? 'none'}`)
  const begin: number[] = []
  const end: number[] = []
  let side = begin
  for (const { SpecialToken: mark, Sequence: sequence } of processor.single) {
    if (sequence) side = end
    else if (mark) side.push(...(processor.special_tokens?.[mark.id]?.ids ?? []))
  }
  return { begin, end }
}

function parse(json: string, path: string): TokenizerFile {
  try {
    return JSON.parse(json) as TokenizerFile
  } catch (error) {
    throw new CodebaseError('BAD_INPUT', `${path} is not JSON.`, 'Fetch the model folder again.', error)
  }
}

function unsupported(path: string, what: string): CodebaseError {
  return new CodebaseError(
    'BAD_INPUT',
    `${path} has ${what}, which cannot be followed here.`,
    "Choose a model with BERT's WordPiece tokenizer (MiniLM, bge, e5, gte and their kin), or serve yours with an OpenAI-compatible endpoint.",
  )
}
