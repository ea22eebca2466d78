// data-table.tsx: a list of objects as a table, a page at a time.
import { useState } from 'react'
import { Button } from '../parts/basics.tsx'
import type { Json } from '../state/types.ts'

const PAGE = 50
const COLUMNS = 12
const CELL_CHARS = 200

/** At least two objects with the same kind of members. */
export function isTable(value: unknown): value is readonly Json[] {
  return (
    Array.isArray(value) &&
    value.length > 1 &&
    value.every((row) => typeof row === 'object' && row !== null && !Array.isArray(row)) &&
    Object.keys(value[0] as object).length > 0
  )
}

export function DataTable({ rows }: { readonly rows: readonly Json[] }) {
  const [shown, setShown] = useState(PAGE)
  const columns = [...new Set(rows.slice(0, PAGE).flatMap((row) => Object.keys(row)))].slice(0, COLUMNS)
  return (
    <div className="stack-tight">
      <div className="table-wrap">
        <table className="table data">
          <thead>
            <tr>
              {columns.map((column) => (
                <th key={column} scope="col">
                  {column}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.slice(0, shown).map((row, at) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: rows of a server have no other identity
              <tr key={at}>
                {columns.map((column) => (
                  <td key={column} className={typeof row[column] === 'number' ? 'number' : ''}>
                    {cell(row[column])}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {rows.length > shown && (
        <Button onClick={() => setShown(shown + PAGE)}>
          Show more: {shown} of {rows.length} rows
        </Button>
      )}
    </div>
  )
}

function cell(value: unknown): string {
  if (value === undefined || value === null) return ''
  const text = typeof value === 'object' ? JSON.stringify(value) : String(value)
  return text.length > CELL_CHARS ? `${text.slice(0, CELL_CHARS)}…` : text
}
