// websocket-client.ts: the WebSocket client, as our own module, loaded when first needed.
export { WebSocket } from 'ws'
