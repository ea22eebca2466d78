// trace.ts: the trace context in request parameters, for programs that pass requests on.
export { extractTrace, injectTrace, isRecorded, TRACE_FIELDS } from './connection/client-span.ts'
