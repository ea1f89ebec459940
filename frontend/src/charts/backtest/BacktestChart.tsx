import { useMemo, type ReactNode } from 'react'
import type { TimeAxis } from '../../api/_generated/schema'
import { alertState, alertStateColour } from '../../lib/alerts'
import { seriesColour } from '../../lib/palette'
import { useChartTheme } from '../../ui/theme/useChartTheme'
import { ChartPanel, type ChartPanelProps } from '../ChartPanel'
import { backtestFigure, type BacktestLine } from './figure'

interface BacktestChartProps extends Pick<ChartPanelProps, 'load' | 'height' | 'onTimeZoom' | 'controls' | 'wrap'> {
  name: string
  title: ReactNode
  label: string
  hint?: ReactNode
  axis: TimeAxis | undefined
  line: BacktestLine | undefined
  /** The answer came, and it has no values. */
  noData?: boolean
  emptyText: { title: string; next: string }
}

/** A condition's value over time with its threshold, and the states that it made. */
export function BacktestChart({ axis, line, noData = false, emptyText, ...panel }: BacktestChartProps) {
  const theme = useChartTheme()
  const figure = useMemo(
    () => (axis === undefined || line === undefined ? null : backtestFigure(axis, line, theme)),
    [axis, line, theme],
  )
  const drawable = line?.values.some((value) => value !== null) === true || (line?.spans.length ?? 0) > 0
  return (
    <ChartPanel
      chart="backtest"
      {...panel}
      figure={figure}
      empty={noData || (axis !== undefined && !drawable) ? emptyText : null}
      legend={[
        { label: 'value', colour: seriesColour(0) },
        ...(['ok', 'pending', 'firing', 'no_data'] as const).map((state) => ({
          label: alertState(state).label,
          colour: alertStateColour(state, theme.name),
        })),
      ]}
    />
  )
}
