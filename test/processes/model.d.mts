export interface Message {
  readonly id?: number | string
  readonly method?: string
  readonly params?: Record<string, unknown>
}
export function answer(message: Message): object | undefined
