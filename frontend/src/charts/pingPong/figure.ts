import type { Data } from 'plotly.js'
import type { PingPongHistory } from '../../api/_generated/schema'
import { stateColours, translucent, type ChartTheme } from '../../lib/palette'
import { plotTime } from '../../lib/units/time'
import {
  axis,
  baseLayout,
  breakGaps,
  gapColumns,
  seriesTable,
  stepOf,
  timeAxis,
  titledAxis,
  utcHover,
} from '../baseLayout'
import type { ChartFigure } from '../chartFigure'
import { markMargin, markShapes, type ChartMark } from '../eventMarks'
import { ghostColumns, ghostOf, ghostTraces, type Ghost } from '../ghost'

type Shown = Pick<PingPongHistory, 'axis' | 'series' | 'states' | 'kind'>

/** States differ by height as well as by colour. */
const heights = { ok: 0.34, warn: 0.67, crit: 1 } as const

/** The names of the states as people read them. */
export const stateNames = { ok: 'ok', warn: 'warning', crit: 'critical' } as const

function stateBars(answer: Shown, width: number): Data[] {
  return (['ok', 'warn', 'crit'] as const).map((state): Data => {
    const times = answer.axis.times.filter((_, index) => answer.states[index] === state)
    return {
      type: 'bar',
      name: stateNames[state],
      x: times.map(plotTime),
      y: times.map(() => heights[state]),
      yaxis: 'y2',
      width: width * 1000,
      offset: -width * 1000,
      marker: { color: stateColours[state], line: { width: 0 } },
      hovertemplate: `state ${stateNames[state]}<extra></extra>`,
    }
  })
}

/** Columns where no state is known, hatched over the strip of states alone. */
function unknownStates(answer: Shown, width: number, theme: ChartTheme): Data {
  const gaps = gapColumns(answer.axis.times, [answer.states.map((state) => (state === null ? null : 1))], width, theme)
  return { ...gaps, yaxis: 'y2' }
}

/** The share of promotions that ping-pong, or its bound, over time, and the state of each bucket beneath it. */
export function pingPongFigure(
  answer: Shown,
  theme: ChartTheme,
  marks: ChartMark[],
  ghost: Ghost | null = null,
): ChartFigure {
  const { times, window, step_seconds: step } = answer.axis
  const start = Date.parse(window.start) / 1000
  const end = Date.parse(window.end) / 1000
  const width = stepOf(times, step)
  const utc = utcHover(times)
  const ratio = answer.series.find(({ key }) => key === 'ping_pong_ratio')
  const values = ratio?.values ?? times.map(() => null)
  const drawn = breakGaps(times, values, step)
  const isBound = answer.kind === 'upper_bound'
  return {
    data: [
      utc.trace,
      gapColumns(times, [values], width, theme),
      unknownStates(answer, width, theme),
      ...stateBars(answer, width),
      {
        type: 'scatter',
        mode: drawn.times.length < 60 ? 'lines+markers' : 'lines',
        name: isBound ? 'at most' : 'ping-pong',
        x: drawn.times.map(plotTime),
        y: drawn.values.map((value) => (value === null ? null : value * 100)),
        connectgaps: false,
        // Below a bound everything is possible: an area, where a measurement is a line.
        ...(isBound ? { fill: 'tozeroy' as const, fillcolor: translucent(theme.text, 0.12) } : {}),
        line: { color: theme.text, width: isBound ? 0.8 : 1.6 },
        marker: { size: 3.5, color: theme.text },
        hovertemplate: `%{y:,.3~g} %`,
      },
      ...ghostTraces(ghost, ghostOf(ghost, [{ key: 'ping_pong_ratio', colour: theme.text }]), {
        divisor: 0.01,
        unit: '%',
      }),
    ],
    layout: {
      ...baseLayout(theme),
      margin: { l: 60, r: 16, t: markMargin, b: 40, pad: 0 },
      barmode: 'overlay',
      bargap: 0,
      xaxis: { ...timeAxis(theme, start, end), anchor: 'y2' },
      yaxis: titledAxis(theme, isBound ? '% of promotions, at most' : '% of promotions', {
        domain: [0.22, 1],
        range: [0, 105],
        tickvals: [0, 25, 50, 75, 100],
      }),
      yaxis2: {
        ...axis(theme),
        domain: [0, 0.13],
        fixedrange: true,
        range: [0, 1],
        showgrid: false,
        tickvals: [0.5],
        ticktext: ['state'],
        ticklen: 0,
      },
      yaxis9: utc.axis,
      ...markShapes(theme, marks, start, end),
    },
    table: stateTable(answer, ghost),
  }
}

function stateTable(answer: Shown, ghost: Ghost | null) {
  const table = seriesTable(answer.axis.times, [
    ...answer.series.map((line) => ({ label: `${line.label} (${line.unit})`, values: line.values })),
    ...ghostColumns(ghost, answer.axis.times, answer.axis.step_seconds),
  ])
  return {
    columns: [...table.columns, 'state'],
    rows: table.rows.map((row, index) => [...row, answer.states[index] ?? null]),
  }
}
