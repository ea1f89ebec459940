import type { Data, Layout } from 'plotly.js'
import type { TimeAxis } from '../../api/_generated/schema'
import { alertState, alertStateColour, type AlertState } from '../../lib/alerts'
import { seriesColour, translucent, type ChartTheme } from '../../lib/palette'
import { plotText } from '../../lib/text/escape'
import { formatDuration, formatUtc, plotTime } from '../../lib/units/time'
import { scaleFor, unitLabel } from '../../lib/units/units'
import { axis as axisStyle, baseLayout, breakGaps, gapColumns, stepOf, timeAxis, utcHover } from '../baseLayout'
import type { ChartFigure } from '../chartFigure'

/** A stretch in which a rule was in one state at a subject. */
export interface StateSpan {
  state: AlertState
  from: string
  to: string | null
  value: number | null
}

/** What the condition saw at one subject, and what state it made of it. */
export interface BacktestLine {
  name: string
  unit: string
  values: (number | null)[]
  /** What the value is compared with; null where that is no constant. */
  threshold: number | null
  /** What the value must pass to recover; null where there is no dead band. */
  recovery: number | null
  spans: StateSpan[]
  /** The names of the values 0, 1, 2 … of a series of states; empty for numbers. */
  words: string[]
}

/** The height of the strip of states, as a share of the plot. */
const stripShare = 0.09

function seconds(time: string): number {
  return Date.parse(time) / 1000
}

/** Spans as bars of the strip: on a date axis lengths are milliseconds. */
function strip(line: BacktestLine, start: number, end: number, theme: ChartTheme): Data[] {
  const states: AlertState[] = ['ok', 'pending', 'firing', 'no_data']
  return states.map((state): Data => {
    const own = line.spans.filter((span) => span.state === state || (state === 'ok' && span.state === 'resolved'))
    const bounds = own.map((span) => ({
      from: Math.max(start, seconds(span.from)),
      to: Math.min(end, span.to === null ? end : seconds(span.to)),
    }))
    return {
      type: 'bar',
      orientation: 'h',
      name: alertState(state).label,
      y: own.map(() => 0),
      base: bounds.map(({ from }) => plotTime(from)),
      x: bounds.map(({ from, to }) => Math.max(0, to - from) * 1000),
      width: 1,
      xaxis: 'x',
      yaxis: 'y2',
      customdata: bounds.map(({ from, to }) => `${alertState(state).label} for ${formatDuration(to - from)}`),
      hovertemplate: '%{customdata}<extra></extra>',
      marker: { color: alertStateColour(state, theme.name), line: { width: 0 } },
    } as Data
  })
}

function levels(
  line: BacktestLine,
  divisor: number,
  theme: ChartTheme,
): Required<Pick<Layout, 'shapes' | 'annotations'>> {
  const across = { xref: 'paper' as const, yref: 'y' as const }
  const { threshold, recovery } = line
  const shapes: Layout['shapes'] = []
  const annotations: Layout['annotations'] = []
  if (threshold !== null && recovery !== null && threshold !== recovery) {
    shapes.push({
      ...across,
      type: 'rect',
      x0: 0,
      x1: 1,
      y0: recovery / divisor,
      y1: threshold / divisor,
      line: { width: 0 },
      fillcolor: translucent(theme.beyond, 0.1),
      layer: 'below',
    })
  }
  const lines: [number | null, string, 'dash' | 'dot'][] = [
    [threshold, 'threshold', 'dash'],
    [recovery === threshold ? null : recovery, 'recovery', 'dot'],
  ]
  for (const [value, label, dash] of lines) {
    if (value === null) continue
    shapes.push({
      ...across,
      type: 'line',
      x0: 0,
      x1: 1,
      y0: value / divisor,
      y1: value / divisor,
      line: { color: theme.beyond, width: 1.5, dash },
    })
    annotations.push({
      ...across,
      x: 1,
      y: value / divisor,
      xanchor: 'right',
      yanchor: 'bottom',
      text: label,
      showarrow: false,
      font: { size: 11, color: theme.beyond },
    })
  }
  return { shapes, annotations }
}

/** The value that a rule's condition compares, its threshold and dead band, and the states under it. */
export function backtestFigure(time: TimeAxis, line: BacktestLine, theme: ChartTheme): ChartFigure {
  const [start, end] = [seconds(time.window.start), seconds(time.window.end)]
  const bounds = [line.threshold ?? 0, line.recovery ?? 0]
  const peak = Math.max(...bounds, ...line.values.map((value) => Math.abs(value ?? 0)))
  const scale = scaleFor(line.unit, peak)
  const values = breakGaps(time.times, line.values, time.step_seconds)
  const utc = utcHover(time.times)
  return {
    data: [
      utc.trace,
      gapColumns(time.times, [line.values], stepOf(time.times, time.step_seconds), theme),
      {
        type: 'scatter',
        mode: values.times.length < 60 ? 'lines+markers' : 'lines',
        name: plotText(line.name),
        x: values.times.map(plotTime),
        y: values.values.map((value) => (value === null ? null : value / scale.divisor)),
        connectgaps: false,
        line: { color: seriesColour(0), width: 1.5 },
        marker: { size: 3.5, color: seriesColour(0) },
        customdata: values.values.map((value) => (value === null ? '' : plotText(line.words[value] ?? ''))),
        hovertemplate: line.words.length === 0 ? `%{y:,.3~g} ${plotText(scale.unit)}` : '%{customdata}',
      },
      ...strip(line, start, end, theme),
    ],
    layout: {
      ...baseLayout(theme),
      barmode: 'overlay',
      margin: { l: 60, r: 16, t: 8, b: 40, pad: 0 },
      xaxis: { ...timeAxis(theme, start, end), anchor: 'y2' },
      yaxis: {
        ...axisStyle(theme),
        domain: [stripShare + 0.04, 1],
        fixedrange: true,
        nticks: 5,
        ...(line.words.length === 0
          ? { title: { text: plotText(scale.unit), font: { size: 11 }, standoff: 6 } }
          : { tickmode: 'array', tickvals: line.words.map((_, index) => index), ticktext: line.words.map(plotText) }),
        range: [0, peak === 0 ? 1 : (peak * 1.12) / scale.divisor],
      },
      yaxis2: { domain: [0, stripShare], range: [-0.5, 0.5], fixedrange: true, visible: false },
      yaxis9: utc.axis,
      ...levels(line, scale.divisor, theme),
    },
    table: {
      columns: ['time (UTC)', `${line.name} (${unitLabel(line.unit) || 'value'})`, 'state'],
      rows: time.times.map((at, index) => [
        formatUtc(new Date(at * 1000)),
        line.values[index] ?? null,
        stateAt(line.spans, at),
      ]),
    },
  }
}

/** The state at a moment, in words; null where there is none. */
function stateAt(spans: StateSpan[], at: number): string | null {
  const found = spans.find((span) => seconds(span.from) <= at && (span.to === null || at < seconds(span.to)))
  return found === undefined ? null : alertState(found.state).label
}
