import type { Cell, Table } from './csv'

/** A column as Parquet takes it. Every column of a table has one type, which its name and cells tell. */
export interface ParquetColumn {
  name: string
  /** As the column's name states it, `UTC` for times; null where it has none. */
  unit: string | null
  type: 'DOUBLE' | 'TIMESTAMP' | 'STRING'
  data: (number | string | Date | null)[]
}

const unitPattern = /\(([^()]+)\)$/
const timePattern = /^(\d{4}-\d{2}-\d{2})(?: (\d{2}:\d{2}:\d{2}) UTC)?$/

/** The unit that a column's name ends with in parentheses, as in `hot (bytes)`; null where it states none. */
export function columnUnit(name: string): string | null {
  return unitPattern.exec(name)?.[1] ?? null
}

/** The moment of a cell such as `2026-11-21 03:04:05 UTC` or `2026-11-21`; null where it is not one. */
function timeOf(cell: Cell): Date | null {
  const match = typeof cell === 'string' ? timePattern.exec(cell) : null
  return match === null ? null : new Date(`${match[1] ?? ''}T${match[2] ?? '00:00:00'}Z`)
}

/** Two columns of the same name become `name` and `name 2`: readers of Parquet need names that differ. */
function uniqueNames(names: string[]): string[] {
  const seen = new Map<string, number>()
  return names.map((name) => {
    const count = (seen.get(name) ?? 0) + 1
    seen.set(name, count)
    return count === 1 ? name : `${name} ${count}`
  })
}

/** The columns of a table with their types; a column with cells of several types is text. */
export function parquetColumns(table: Table): ParquetColumn[] {
  return uniqueNames(table.columns).map((name, index) => {
    const unit = columnUnit(table.columns[index] ?? name)
    const cells = table.rows.map((row) => row[index] ?? null)
    const present = cells.filter((cell) => cell !== null)
    if (unit === 'UTC' && present.every((cell) => timeOf(cell) !== null)) {
      return { name, unit, type: 'TIMESTAMP', data: cells.map(timeOf) }
    }
    const isNumeric = present.every((cell) => typeof cell === 'number')
    // A column without any value is one of numbers where it states a unit.
    if (isNumeric && (present.length > 0 || unit !== null)) return { name, unit, type: 'DOUBLE', data: cells }
    return { name, unit, type: 'STRING', data: cells.map((cell) => (cell === null ? null : String(cell))) }
  })
}

/** From the first to the last moment in the first column of times; null where there is none. */
export function windowOfTable(columns: ParquetColumn[]): { start: string; end: string } | null {
  const times = columns.find(({ type }) => type === 'TIMESTAMP')?.data.filter((cell) => cell instanceof Date)
  if (times === undefined || times.length === 0) return null
  const moments = times.map((time) => time.getTime())
  const [start, end] = [moments.reduce((a, b) => Math.min(a, b)), moments.reduce((a, b) => Math.max(a, b))]
  return { start: new Date(start).toISOString(), end: new Date(end).toISOString() }
}
