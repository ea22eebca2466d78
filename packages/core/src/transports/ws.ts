// ws.ts: the WebSocket client, as a module of ours, loaded when first needed.
export { WebSocket } from 'ws'
