// unique-name.ts: names that are unique across processes and time; not secrets.

export function uniqueName(): string {
  const chance = Math.floor(Math.random() * 2 ** 48).toString(36)
  return `${process.pid.toString(36)}-${Date.now().toString(36)}-${chance}`
}
