import type { TimeAxis } from '../../api/_generated/schema'
import { seriesColour } from '../../lib/palette'
import { ChartPanel, type ChartPanelProps } from '../ChartPanel'
import { noMarks, type ChartMark } from '../eventMarks'
import type { Ghost } from '../ghost'
import { useFigure } from '../useFigure'
import { linesFigure, type Line, type LineLimit } from './figure'

interface LinesChartProps extends Omit<ChartPanelProps, 'chart' | 'figure' | 'legend' | 'empty' | 'ghost'> {
  ghost?: Ghost | null
  axis: TimeAxis | undefined
  lines: Line[]
  marks?: ChartMark[]
  limit?: LineLimit | undefined
  emptyText: { title: string; next: string }
}

/** Lines over time: pressure, rates, counters. */
export function LinesChart({
  axis,
  lines,
  marks = noMarks,
  limit,
  emptyText,
  ghost = null,
  ...panel
}: LinesChartProps) {
  const drawable = lines.some((line) => line.values.some((value) => value !== null))
  const figure = useFigure(linesFigure, axis, lines, marks, limit, ghost)
  return (
    <ChartPanel
      chart="lines"
      {...panel}
      ghost={ghost}
      figure={figure}
      empty={axis !== undefined && !drawable ? emptyText : null}
      legend={lines.map((line, index) => ({ label: line.label, colour: line.colour ?? seriesColour(index) }))}
    />
  )
}
