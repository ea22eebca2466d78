// schema-table.tsx: a JSON Schema as a table that people read: names, types, limits, meaning.
import type { Json } from '../state/types.ts'
import { limitsOf, resolved, typeText } from './schema.ts'

interface Row {
  readonly path: string
  readonly depth: number
  readonly type: string
  readonly required: boolean
  readonly limits: string
  readonly description: string
}

const DEPTH = 6
const ROWS = 300

export function SchemaTable({ title, schema }: { readonly title: string; readonly schema: Json }) {
  const rows = rowsOf(schema, schema, '', 0)
  return (
    <div>
      <h3 className="section-title">{title}</h3>
      {rows.length === 0 ? (
        <p className="dim">None.</p>
      ) : (
        <div className="table-wrap">
          <table className="table schema">
            <thead>
              <tr>
                <th scope="col">Name</th>
                <th scope="col">Type</th>
                <th scope="col">Meaning</th>
              </tr>
            </thead>
            <tbody>
              {rows.slice(0, ROWS).map(({ path, depth, type, required, limits, description }) => (
                <tr key={path}>
                  <th scope="row" className={`indent-${Math.min(depth, 5)}`}>
                    <code>{path.split('.').at(-1)}</code>
                    {required && <span className="required">required</span>}
                  </th>
                  <td>
                    <code>{type}</code>
                  </td>
                  <td>
                    {description}
                    {limits !== '' && <div className="dim">{limits}</div>}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </div>
  )
}

function rowsOf(given: Json, root: Json, path: string, depth: number): readonly Row[] {
  if (depth > DEPTH) return []
  const schema = resolved(given, root)
  const required = new Set(Array.isArray(schema['required']) ? schema['required'] : [])
  return Object.entries((schema['properties'] ?? {}) as Readonly<Record<string, Json>>).flatMap(
    ([name, property]) => {
      const own = resolved(property, root)
      const at = path === '' ? name : `${path}.${name}`
      const below = own['type'] === 'array' && typeof own['items'] === 'object' ? (own['items'] as Json) : own
      return [
        {
          path: at,
          depth,
          type: typeText(own, root),
          required: required.has(name),
          limits: limitsOf(own),
          description: typeof own['description'] === 'string' ? own['description'] : '',
        },
        ...rowsOf(below, root, at, depth + 1),
      ]
    },
  )
}
