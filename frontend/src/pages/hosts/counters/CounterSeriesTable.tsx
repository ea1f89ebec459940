import type { CounterAnswer, CounterSeries } from '../../../api/_generated/schema'
import { formatQuantity, rateUnit, threeDigits } from '../../../lib/units/units'
import { Panel } from '../../../ui/layout/Panel'
import type { Column } from '../../../ui/tables/column'
import { DataTable } from '../../../ui/tables/DataTable'
import { amountColumn } from '../../../ui/tables/figureColumn'

function newest(values: (number | null)[] | null): number | null {
  return values?.findLast((value) => value !== null) ?? null
}

const columns: Column<CounterSeries>[] = [
  { key: 'scope', header: 'Scope', cell: (series) => <span className="ts-mono">{series.scope}</span> },
  { key: 'source', header: 'Source', cell: (series) => <span className="ts-mono">{series.source}</span> },
  { key: 'kind', header: 'Kind', cell: (series) => series.kind },
  {
    key: 'value',
    header: 'Newest value',
    value: (series) => ({ amount: newest(series.values), unit: series.unit }),
    numeric: true,
    cell: (series) => {
      const value = newest(series.values)
      if (value === null) return 'no value'
      return series.kind === 'gauge' ? formatQuantity(value, series.unit) : value.toLocaleString('en-US')
    },
  },
  {
    key: 'rate',
    header: 'Newest rate',
    value: (series) => ({ amount: newest(series.per_s), unit: rateUnit(series.unit) }),
    numeric: true,
    cell: (series) => {
      const rate = newest(series.per_s)
      if (series.per_s === null) return 'a gauge has none'
      return rate === null ? 'no value' : formatQuantity(rate, rateUnit(series.unit))
    },
  },
  amountColumn('resets', 'Resets', (series) => series.resets, threeDigits),
]

/** The series behind the chart: newest value and rate, resets, and what to know before trusting them. */
export function CounterSeriesTable({ answer }: { answer: CounterAnswer | undefined }) {
  if (answer === undefined || answer.series.length === 0) return null
  const trust = [...new Set(answer.series.map((series) => series.trust))].filter((note) => note !== null)
  return (
    <Panel title="Series" hint={[`${answer.series.length} in ${answer.points} points.`, ...trust].join(' ')} flush>
      <DataTable
        label="Series of the counter"
        columns={columns}
        rows={answer.series}
        rowKey={(series) => `${series.scope}|${series.source}|${series.name}`}
      />
    </Panel>
  )
}
