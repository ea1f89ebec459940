import type { ReactNode } from 'react'
import type { FigureValue } from '../../lib/units/figure'
import { FigureText } from '../figures/FigureText'
import { Timestamp } from '../text/Timestamp'
import type { Column } from './column'

type More<Row> = Partial<Pick<Column<Row>, 'meaning' | 'name' | 'only' | 'sortBy' | 'value'>> & { sorted?: boolean }

/** A column of figures, in order of their values. `nameOf` says whose a figure is; a row without it has an empty cell. */
export function figureColumn<Row>(
  key: string,
  header: string,
  pick: (row: Row) => FigureValue | undefined,
  nameOf: (row: Row) => string,
): Column<Row> {
  return {
    key,
    header,
    numeric: true,
    sortBy: (row) => pick(row)?.value ?? null,
    value: (row) => ({ amount: pick(row)?.value ?? null, unit: pick(row)?.unit ?? 'bytes' }),
    cell: (row) => {
      const figure = pick(row)
      return figure === undefined ? null : <FigureText figure={figure} label={`${header}, ${nameOf(row)}`} />
    },
  }
}

/** A column of figures, each with a label of its own; `bare`: without its unit. */
export function labelledColumn<Row>(
  key: string,
  header: string,
  pick: (row: Row) => readonly [figure: FigureValue, label: string],
  { sorted = false, bare = false, ...more }: More<Row> & { bare?: boolean } = {},
): Column<Row> {
  return {
    key,
    header,
    numeric: true,
    ...(sorted && { sortBy: (row) => pick(row)[0].value }),
    cell: (row) => {
      const [figure, label] = pick(row)
      return <FigureText figure={figure} label={label} bare={bare} />
    },
    ...more,
  }
}

/** A column of numbers: rounded by `format` in the cell, and as they are in downloads, with their `unit` if any. */
export function amountColumn<Row>(
  key: string,
  header: string,
  pick: (row: Row) => number | null,
  format: (amount: number) => ReactNode,
  { unit, absent = null, sorted = false, ...more }: More<Row> & { unit?: string; absent?: ReactNode } = {},
): Column<Row> {
  return {
    key,
    header,
    numeric: true,
    ...(sorted && { sortBy: pick }),
    value: (row) => (unit === undefined ? pick(row) : { amount: pick(row), unit }),
    cell: (row) => {
      const amount = pick(row)
      return amount === null ? absent : format(amount)
    },
    ...more,
  }
}

/** A column of times, in their order. */
export function timeColumn<Row>(
  key: string,
  header: string,
  pick: (row: Row) => string | null,
  now?: Date,
): Column<Row> {
  return { key, header, sortBy: pick, cell: (row) => <Timestamp at={pick(row)} {...(now && { now })} /> }
}
