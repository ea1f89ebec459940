import { useMediaQuery } from '@mantine/hooks'
import type { SweepRunSeries, SweepHeat } from '../../api/_generated/schema'
import { kindColour, moveColours, stateColours } from '../../lib/palette'
import { ChartPanel, type ChartPanelProps } from '../ChartPanel'
import { useFigure } from '../useFigure'
import { replayFigure, replayHeight } from './figure'
import { kindsOf, replayRows } from './rows'

interface ReplayChartProps extends Pick<ChartPanelProps, 'load'> {
  series: SweepRunSeries | undefined
  /** Null where the heat could not be had; the run is drawn without it. */
  heat: SweepHeat | null
  /** Why there is no heat. */
  heatReason: string | null
  intervalSeconds: number
  title: string
}

/** One run, interval by interval, under the heat of its trace. */
export function ReplayChart({ series, heat, heatReason, intervalSeconds, title, load }: ReplayChartProps) {
  const narrow = useMediaQuery('(max-width: 640px)') ?? false
  const figure = useFigure(replayFigure, series, heat, intervalSeconds, narrow)
  const rows = series === undefined ? 3 : replayRows(series).length
  const kinds = series === undefined ? [] : kindsOf(series)
  return (
    <ChartPanel
      chart="replay"
      name="replay"
      title={title}
      label={`Replay of ${title}`}
      hint={hintOf(heat, heatReason)}
      load={load}
      figure={figure}
      height={replayHeight(rows, heat !== null || series === undefined)}
      empty={
        series !== undefined && series.interval.length === 0
          ? { title: 'This run has no intervals', next: 'Start the sweep again with a longer trace.' }
          : null
      }
      legend={[
        { label: 'local share of all', colour: kindColour('all') },
        ...kinds.map((kind) => ({ label: `of ${kind}`, colour: kindColour(kind) })),
        { label: 'promoted', colour: moveColours.promotion },
        { label: 'demoted', colour: moveColours.demotion },
        { label: 'ping-pong', colour: stateColours.warn },
      ]}
    />
  )
}

function hintOf(heat: SweepHeat | null, reason: string | null): string {
  if (heat === null) return `simulated, interval by interval${reason === null ? '' : `; no heat: ${reason}`}`
  const host = heat.host_name === null ? '' : `, of ${heat.host_name}`
  return `simulated, interval by interval, under the heat of the trace${host}`
}
