import type { FigureValue } from '../../lib/units/figure'
import { FigureText } from '../figures/FigureText'
import type { Column } from './column'

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
