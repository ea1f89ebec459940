import type { Ledger } from '../../api/_generated/schema'
import type { LoadState } from '../../lib/loadState'
import { ChartPanel } from '../ChartPanel'
import { noMarks, type ChartMark } from '../eventMarks'
import type { Ghost } from '../ghost'
import { useFigure } from '../useFigure'
import { flowSeries, ledgerFigure, seriesInPages } from './figure'

interface LedgerChartProps {
  ghost?: Ghost | null
  ledger: Ledger | undefined
  load: LoadState
  height: number
  marks?: ChartMark[]
  onTimeZoom: (startSeconds: number, endSeconds: number) => void
}

/** Tier moves over time: promotions up, demotions by cause down. */
export function LedgerChart({ ledger, load, height, marks = noMarks, ghost = null, onTimeZoom }: LedgerChartProps) {
  const figure = useFigure(ledgerFigure, ledger, marks, ghost)
  const flows = ledger === undefined ? [] : flowSeries(seriesInPages(ledger))
  const reason = ledger?.columns.find((column) => column.total.reason !== null)?.total.reason
  return (
    <ChartPanel
      chart="ledger"
      name="ledger"
      title="Tier moves"
      label="Tier moves over time"
      hint={ledger === undefined ? undefined : `kernel dialect: ${ledger.dialect}`}
      load={load}
      figure={figure}
      ghost={ghost}
      height={height}
      empty={
        ledger !== undefined && flows.length === 0
          ? {
              title: 'No tier moves in this time range',
              next: reason ?? 'Widen the time range, or see the columns below for what this kernel counts.',
            }
          : null
      }
      evidence={ledger?.columns.find((column) => column.key.startsWith('promoted'))?.rate}
      legend={[
        ...flows.map(({ series, colour, striped }) => ({ label: series.label, colour, striped })),
        ...((ledger?.resets.length ?? 0) > 0 ? [{ label: '▾ excluded (reset, reboot or gap)' }] : []),
      ]}
      onTimeZoom={onTimeZoom}
    />
  )
}
