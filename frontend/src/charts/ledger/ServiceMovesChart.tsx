import { useMemo } from 'react'
import type { Ledger } from '../../api/_generated/schema'
import type { LoadState } from '../../lib/loadState'
import { seriesColour } from '../../lib/palette'
import { useChartTheme } from '../../ui/theme/useChartTheme'
import { ChartPanel } from '../ChartPanel'
import type { ChartMark } from '../eventMarks'
import { flowsFigure, hasValues, serviceFlows } from './figure'

interface ServiceMovesChartProps {
  ledger: Ledger | undefined
  load: LoadState
  height: number
  marks: ChartMark[]
  onTimeZoom: (startSeconds: number, endSeconds: number) => void
}

/** Whose pages of a host move: promotions up and demotions down, in the cgroups of each service. */
export function ServiceMovesChart({ ledger, load, height, marks, onTimeZoom }: ServiceMovesChartProps) {
  const theme = useChartTheme()
  const flows = useMemo(() => serviceFlows(ledger?.services ?? []), [ledger])
  const counted = (ledger?.services ?? []).filter(({ moves }) => moves.some(hasValues))
  const figure = useMemo(
    () =>
      ledger === undefined
        ? null
        : flowsFigure(ledger, { flows, listed: flows.map(({ series }) => series) }, theme, marks),
    [ledger, flows, theme, marks],
  )
  return (
    <ChartPanel
      chart="ledger"
      name="service-moves"
      title="Tier moves by service"
      label="Tier moves by service over time"
      hint="counted in the cgroups of each service"
      load={load}
      figure={figure}
      height={height}
      empty={
        ledger !== undefined && flows.length === 0
          ? {
              title: 'No tier moves counted by service',
              next: 'Linux counts promotions and demotions by cgroup from 6.12 on; the host as a whole stands above.',
            }
          : null
      }
      legend={counted.map(({ service }, place) => ({ label: service, colour: seriesColour(place) }))}
      onTimeZoom={onTimeZoom}
    />
  )
}
