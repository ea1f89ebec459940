import type { Cell, Table } from '../../lib/export/csv'
import type { FigureValue } from '../../lib/units/figure'
import { formatUtc } from '../../lib/units/time'
import { cellValue, headerText, type Amount, type CellValue } from './cellValue'
import type { Column } from './column'

interface NamedCells {
  name: string
  cells: Cell[]
}

function isFigure(value: CellValue): value is FigureValue {
  return typeof value === 'object' && value !== null && 'definition' in value
}

function isAmount(value: CellValue): value is Amount {
  return typeof value === 'object' && value !== null && 'amount' in value
}

/**
 * The rows of a list as a table to hand out: unrounded values with their unit in the column's name, times in UTC.
 * Figures also bring their intervals, and in which way a figure is absent. Columns without a header hold buttons and
 * are left out.
 */
export function listTable<Row>(columns: Column<Row>[], rows: Row[]): Table {
  const named = columns.flatMap((column): NamedCells[] => {
    const name = column.name ?? headerText(column.header)
    return name === ''
      ? []
      : spread(
          name,
          rows.map((row) => valueOf(column, row)),
        )
  })
  return {
    columns: named.map(({ name }) => name),
    rows: rows.map((_, index) => named.map(({ cells }) => cells[index] ?? null)),
  }
}

function valueOf<Row>(column: Column<Row>, row: Row): CellValue {
  if (column.value !== undefined) return column.value(row)
  return cellValue(column.cell(row)) ?? column.sortBy?.(row) ?? null
}

function spread(name: string, values: CellValue[]): NamedCells[] {
  if (values.some((value) => isFigure(value) || isAmount(value))) return quantities(name, values)
  if (values.some((value) => value instanceof Date)) {
    const times = values.map((value) => (value instanceof Date ? formatUtc(value) : null))
    return [{ name: `${name} (UTC)`, cells: times }]
  }
  return [{ name, cells: values.map((value) => (typeof value === 'object' ? null : value)) }]
}

/** A column of quantities: one unit stands in its name, several in a column of their own. */
function quantities(name: string, values: CellValue[]): NamedCells[] {
  const cells = values.map((value) =>
    isFigure(value) ? (value.status === 'ok' ? value.value : null) : isAmount(value) ? value.amount : null,
  )
  const units = values.map((value) => (isFigure(value) || isAmount(value) ? value.unit : null))
  const distinct = [...new Set(units.filter((unit) => unit !== null))]
  const [unit = ''] = distinct
  const suffix = distinct.length === 1 && unit !== '' ? ` (${unit})` : ''
  const named: NamedCells[] = [{ name: `${name}${suffix}`, cells }]
  if (distinct.length > 1) named.push({ name: `${name}, unit`, cells: units })
  const figures = values.map((value) => (isFigure(value) ? value : null))
  if (figures.some((figure) => figure?.status === 'ok' && figure.interval !== null)) {
    const end = (side: 'lo' | 'hi') =>
      figures.map((figure) => (figure?.status === 'ok' ? (figure.interval?.[side] ?? null) : null))
    named.push(
      { name: `${name}, low${suffix}`, cells: end('lo') },
      { name: `${name}, high${suffix}`, cells: end('hi') },
    )
  }
  if (figures.some((figure) => figure !== null && figure.status !== 'ok')) {
    named.push({ name: `${name}, status`, cells: figures.map((figure) => figure?.status ?? null) })
  }
  return named
}
