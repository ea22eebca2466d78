// wasm.ts: starts a WebAssembly kernel. Node has the API; the types of a server-only TypeScript library do not.

export interface WasmMemory {
  readonly buffer: ArrayBuffer
  /** By pages of 64 KiB. */
  grow(pages: number): number
}

interface WasmApi {
  readonly Module: new (bytes: Uint8Array) => object
  readonly Instance: new (module: object) => { readonly exports: unknown }
}

export const WASM_PAGE = 65536

/** The exports of a kernel; the caller names their types, as wasm/*.wat declares them. */
export function startKernel<Exports>(base64: string): Exports {
  const { WebAssembly: api } = globalThis as unknown as { readonly WebAssembly: WasmApi }
  return new api.Instance(new api.Module(Buffer.from(base64, 'base64'))).exports as Exports
}
