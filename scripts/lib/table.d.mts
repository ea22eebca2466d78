// Types of table.mjs, for the programs in TypeScript that print tables.
export function markdownTable(cells: readonly (readonly unknown[])[]): string
