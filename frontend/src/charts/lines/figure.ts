import type { Data } from 'plotly.js'
import type { Series, TimeAxis } from '../../api/_generated/schema'
import { seriesColour, type ChartTheme } from '../../lib/palette'
import { plotText } from '../../lib/text/escape'
import { plotTime } from '../../lib/units/time'
import { scaleFor, unitLabel } from '../../lib/units/units'
import { baseLayout, breakGaps, gapColumns, seriesTable, stepOf, timeAxis, titledAxis, utcHover } from '../baseLayout'
import type { ChartFigure } from '../chartFigure'
import { markMargin, markShapes, noMarks, type ChartMark } from '../eventMarks'
import { ghostColumns, ghostOf, ghostPeak, ghostTraces, type Ghost } from '../ghost'

/** A line of the chart; `colour` where it means something, else by position. `dashed`: beside a solid one of its colour. */
export interface Line extends Series {
  colour?: string
  dashed?: boolean
}

function peakOf(lines: Line[]): number {
  let peak = 0
  for (const line of lines) for (const value of line.values) if (value !== null) peak = Math.max(peak, Math.abs(value))
  return peak
}

/** A level that the lines should keep below. */
export interface LineLimit {
  value: number
  label: string
}

function limitShapes(limit: LineLimit | undefined, divisor: number, theme: ChartTheme) {
  if (limit === undefined) return { shapes: [], annotations: [] }
  const y = limit.value / divisor
  const across = { xref: 'paper' as const, yref: 'y' as const }
  return {
    shapes: [
      {
        ...across,
        type: 'line' as const,
        x0: 0,
        x1: 1,
        y0: y,
        y1: y,
        line: { color: theme.beyond, width: 1.5, dash: 'dash' as const },
      },
    ],
    annotations: [
      {
        ...across,
        x: 1,
        y,
        xanchor: 'right' as const,
        yanchor: 'bottom' as const,
        text: plotText(limit.label),
        showarrow: false,
        font: { size: 11, color: theme.beyond },
      },
    ],
  }
}

/** Lines over time on one scale. All lines must share a unit; gaps are never bridged. */
export function linesFigure(
  time: TimeAxis,
  theme: ChartTheme,
  lines: Line[],
  marks: ChartMark[] = noMarks,
  limit?: LineLimit,
  ghost: Ghost | null = null,
): ChartFigure {
  const unit = lines[0]?.unit ?? ''
  const colourOf = (line: Line, index: number): string => line.colour ?? seriesColour(index)
  const others = ghostOf(
    ghost,
    lines.map((line, index) => ({ key: line.key, colour: colourOf(line, index) })),
  )
  const peak = Math.max(peakOf(lines), ghostPeak(others, false), limit?.value ?? 0)
  const scale = scaleFor(unit, peak)
  const bound = limitShapes(limit, scale.divisor, theme)
  const utc = utcHover(time.times)
  const start = Date.parse(time.window.start) / 1000
  const end = Date.parse(time.window.end) / 1000
  const events = markShapes(theme, marks, start, end)
  const data = lines.map((line, index): Data => {
    const drawn = breakGaps(time.times, line.values, time.step_seconds)
    const colour = colourOf(line, index)
    return {
      type: 'scatter',
      mode: drawn.times.length < 60 ? 'lines+markers' : 'lines',
      name: plotText(line.label),
      x: drawn.times.map(plotTime),
      y: drawn.values.map((value) => (value === null ? null : value / scale.divisor)),
      connectgaps: false,
      line: { color: colour, width: 1.5, dash: line.dashed === true ? 'dash' : 'solid' },
      marker: { size: 3.5, color: colour },
      hovertemplate: `%{y:,.3~g} ${plotText(scale.unit)}`,
    }
  })
  return {
    data: [
      utc.trace,
      gapColumns(
        time.times,
        lines.map((line) => line.values),
        stepOf(time.times, time.step_seconds),
        theme,
      ),
      ...data,
      ...ghostTraces(ghost, others, scale),
    ],
    layout: {
      ...baseLayout(theme),
      margin: { l: 60, r: 16, t: markMargin, b: 40, pad: 0 },
      xaxis: timeAxis(theme, start, end),
      yaxis: titledAxis(theme, plotText(scale.unit), {
        rangemode: 'tozero',
        nticks: 5,
        ...(limit === undefined ? {} : { range: [0, (peak * 1.12) / scale.divisor] }),
        ...(peak === 0 ? { range: [0, 1] } : {}),
      }),
      yaxis9: utc.axis,
      shapes: [...bound.shapes, ...events.shapes],
      annotations: [...bound.annotations, ...events.annotations],
    },
    table: seriesTable(time.times, [
      ...lines.map((line) => ({ label: `${line.label} (${unitLabel(line.unit) || 'count'})`, values: line.values })),
      ...ghostColumns(ghost, time.times, time.step_seconds),
    ]),
  }
}
