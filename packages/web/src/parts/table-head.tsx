// table-head.tsx: the first row of a table.

export type Column =
  | string
  | { readonly title: string; readonly className?: string; readonly isHidden?: boolean }

/** A column whose title is hidden still has it for screen readers. */
export function TableHead({ columns }: { readonly columns: readonly Column[] }) {
  return (
    <thead>
      <tr>
        {columns.map((column) => {
          const { title, className, isHidden } =
            typeof column === 'string' ? { title: column, className: '', isHidden: false } : column
          return (
            <th key={title} scope="col" className={className}>
              {isHidden ? <span className="visually-hidden">{title}</span> : title}
            </th>
          )
        })}
      </tr>
    </thead>
  )
}

export const number = (title: string): Column => ({ title, className: 'number' })
