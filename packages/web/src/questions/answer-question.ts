// answer-question.ts: sends the user's answer; another place may have been quicker.
import { attempt, notify, request } from '../state/board.ts'

export async function answerQuestion(id: number, answer: unknown): Promise<void> {
  const outcome = await attempt(() =>
    request<{ readonly counted: boolean }>('questions/answer', { id, answer }),
  )
  if (outcome && !outcome.counted) notify('It was answered elsewhere already.')
}
