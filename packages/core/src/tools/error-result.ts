// error-result.ts: an error as a result that a model can read and act on.
import { isPlugboardError } from '../errors.ts'
import { cleanText } from '../text/sanitize.ts'
import type { ToolResult } from './result.ts'

/**
 * The result in place of an error. A hint about commands or methods is for the program, not for the model.
 *
 * @example
 * console.log(errorResult(new Error('The disk is full.')).isError) // true
 */
export function errorResult(error: unknown): ToolResult {
  const message = error instanceof Error ? error.message : String(error)
  const hint =
    isPlugboardError(error) && error.hint !== undefined && error.hint === error.shellHint ? error.hint : ''
  return textErrorResult(`${message} ${hint}`.trim())
}

/** An error for a model, as a result. */
export function textErrorResult(text: string): ToolResult {
  return {
    isError: true,
    content: [{ type: 'text', text: cleanText(text) }],
    savedFiles: [],
    truncated: false,
    warnings: [],
  }
}
