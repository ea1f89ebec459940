import { useMemo } from 'react'
import type { TimeAxis } from '../../api/_generated/schema'
import { seriesColour } from '../../lib/palette'
import { useChartTheme } from '../../ui/useChartTheme'
import { ChartPanel, type ChartPanelProps } from '../ChartPanel'
import { noMarks, type ChartMark } from '../eventMarks'
import { linesFigure, type Line } from './figure'

interface LinesChartProps extends Omit<ChartPanelProps, 'figure' | 'legend' | 'empty'> {
  axis: TimeAxis | undefined
  lines: Line[]
  marks?: ChartMark[]
  emptyText: { title: string; next: string }
}

/** Lines over time: pressure, rates, counters. */
export function LinesChart({ axis, lines, marks = noMarks, emptyText, ...panel }: LinesChartProps) {
  const theme = useChartTheme()
  const drawable = lines.some((line) => line.values.some((value) => value !== null))
  const figure = useMemo(
    () => (axis === undefined ? null : linesFigure(axis, lines, theme, marks)),
    [axis, lines, theme, marks],
  )
  return (
    <ChartPanel
      {...panel}
      figure={figure}
      empty={axis !== undefined && !drawable ? emptyText : null}
      legend={lines.map((line, index) => ({ label: line.label, colour: line.colour ?? seriesColour(index) }))}
    />
  )
}
