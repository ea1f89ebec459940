import type { Data } from 'plotly.js'
import type { HostFairness, Series } from '../../api/_generated/schema'
import { seriesColour, type ChartTheme } from '../../lib/palette'
import { plotText } from '../../lib/text/escape'
import { plotTime } from '../../lib/units/time'
import { axis, baseLayout, breakGaps, gapColumns, seriesTable, stepOf, timeAxis, utcHover } from '../baseLayout'
import type { ChartFigure } from '../chartFigure'
import { markMargin, markShapes, noMarks, type ChartMark } from '../eventMarks'

type Shares = Pick<HostFairness, 'axis' | 'series' | 'tenants'>

/** So many tenants are drawn: more lines cannot be told apart. */
export const mostTenants = 6

/** Held and fair shares of the tenants that hold most, each in a colour of its own. */
export function shareLines(answer: Shares): { held: Series; fair: Series | undefined; name: string; colour: string }[] {
  const find = (key: string) => answer.series.find((line) => line.key === key)
  return answer.tenants.slice(0, mostTenants).flatMap((tenant, index) => {
    const held = find(`held:${tenant.id}`)
    if (held === undefined) return []
    return [{ held, fair: find(`fair:${tenant.id}`), name: tenant.name, colour: seriesColour(index) }]
  })
}

/** What each tenant holds of the top tier over time (solid) against its fair share (dashed), in per cent of the tier. */
export function fairShareFigure(answer: Shares, theme: ChartTheme, marks: ChartMark[] = noMarks): ChartFigure {
  const { times, window, step_seconds: step } = answer.axis
  const start = Date.parse(window.start) / 1000
  const end = Date.parse(window.end) / 1000
  const drawn = shareLines(answer)
  const all = drawn.flatMap(({ held, fair }) => (fair === undefined ? [held] : [held, fair]))
  const utc = utcHover(times)
  const line = (series: Series, colour: string, dashed: boolean): Data => {
    const parts = breakGaps(times, series.values, step)
    return {
      type: 'scatter',
      mode: 'lines',
      name: plotText(series.label),
      x: parts.times.map(plotTime),
      y: parts.values.map((value) => (value === null ? null : value * 100)),
      connectgaps: false,
      line: { color: colour, width: dashed ? 1.25 : 2, dash: dashed ? 'dash' : 'solid' },
      hovertemplate: '%{y:.1f} %',
    }
  }
  return {
    data: [
      utc.trace,
      gapColumns(
        times,
        all.map((series) => series.values),
        stepOf(times, step),
        theme,
      ),
      ...drawn.flatMap(({ held, fair, colour }) => [
        line(held, colour, false),
        ...(fair === undefined ? [] : [line(fair, colour, true)]),
      ]),
    ],
    layout: {
      ...baseLayout(theme),
      margin: { l: 60, r: 16, t: markMargin, b: 40, pad: 0 },
      xaxis: timeAxis(theme, start, end),
      yaxis: {
        ...axis(theme),
        fixedrange: true,
        rangemode: 'tozero',
        nticks: 5,
        title: { text: 'top tier held, %', font: { size: 11 }, standoff: 6 },
      },
      yaxis9: utc.axis,
      ...markShapes(theme, marks, start, end),
    },
    table: seriesTable(
      times,
      answer.series
        .filter((series) => series.unit === 'ratio')
        .map((series) => ({ label: `${series.label} (ratio)`, values: series.values })),
    ),
  }
}
