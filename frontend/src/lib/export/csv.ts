/** A cell of a table: null is an absent value and becomes an empty cell, never a zero. */
export type Cell = string | number | null

/** A table as charts and lists hand it over for viewing and download. */
export interface Table {
  columns: string[]
  rows: Cell[][]
}

/**
 * One CSV cell by RFC 4180. Texts that a spreadsheet would run as a formula get a leading apostrophe; numbers do not,
 * so that negative values stay numbers.
 */
export function csvCell(cell: Cell): string {
  if (cell === null) return ''
  if (typeof cell === 'number') return String(cell)
  const safe = /^[=+\-@\t\r]/.test(cell) ? `'${cell}` : cell
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

/** A whole table as CSV with a header line and CRLF line ends. */
export function toCsv(table: Table): string {
  return [table.columns, ...table.rows].map((row) => row.map(csvCell).join(',')).join('\r\n') + '\r\n'
}

/** A file name without anything that a file system or a shell could take amiss. */
export function safeFileName(text: string): string {
  return text.replaceAll(/[^A-Za-z0-9._-]+/g, '-').replaceAll(/^[-.]+|-+$/g, '') || 'tierscope'
}
