// trace.ts: the trace context as it travels beside parameters, for those who pass requests on.
export { extractTrace, injectTrace, isRecorded, TRACE_FIELDS } from './connection/telemetry.ts'
