export function startRetryingServer(): Promise<{ readonly url: string; close(): Promise<void> }>
