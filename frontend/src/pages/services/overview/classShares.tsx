import type { ClassFigures, Figure } from '../../../api/_generated/schema'
import { HeatBar } from '../../../ui/figures/HeatBar'
import type { Column } from '../../../ui/tables/column'

interface Classed {
  classes: ClassFigures[]
  resident_bytes: Figure
}

/** The share of a row's memory in a heat class; says so where the scheme has no such class. */
export function ratioOf(row: Classed, name: ClassFigures['heat_class']): Figure {
  const found = row.classes.find((part) => part.heat_class === name)
  const absent = { status: 'not_supported', value: null, interval: null } as const
  return found?.ratio ?? { ...row.resident_bytes, ...absent, reason: 'This scheme has no such class.' }
}

/** The shares of a row's heat classes as one bar; downloads hold the one that has no column of its own. */
export const sharesColumn: Column<Classed> = {
  key: 'bar',
  header: 'Hot · warm · cold',
  name: 'Warm',
  value: (row) => ratioOf(row, 'warm'),
  cell: (row) => <HeatBar hot={ratioOf(row, 'hot')} warm={ratioOf(row, 'warm')} cold={ratioOf(row, 'cold')} />,
}
