import type { Data } from 'plotly.js'
import type { ServiceHeat } from '../../api/_generated/schema'
import { heatColours, type ChartTheme } from '../../lib/palette'
import { plotTime } from '../../lib/units/time'
import { scaleFor, unitLabel } from '../../lib/units/units'
import { baseLayout, gapColumns, seriesTable, stepOf, timeAxis, titledAxis, utcHover } from '../baseLayout'
import type { ChartFigure } from '../chartFigure'
import { markMargin, markShapes, type ChartMark } from '../eventMarks'
import { ghostColumns, ghostPeak, ghostTraces, type Ghost } from '../ghost'

const order = ['cold', 'warm', 'hot', 'unknown'] as const

/** The class that a series speaks of: keys are `hot` or carry it as a word, such as `anon.hot`; null for other series. */
export function classOfKey(key: string): (typeof order)[number] | null {
  const words = key.toLowerCase().split(/[^a-z]+/)
  return order.find((name) => words.includes(name)) ?? null
}

/** Series of one class each; those narrowed to one page kind are left to their own charts. */
export function classSeries(heat: Pick<ServiceHeat, 'series'>) {
  return order.flatMap((name) => {
    const found = heat.series.find((line) => classOfKey(line.key) === name && !/anon|file|tmpfs/.test(line.key))
    const drawn = found !== undefined && (name !== 'unknown' || found.values.some((value) => (value ?? 0) > 0))
    return drawn ? [{ name, line: found }] : []
  })
}

/** Bytes by heat class over time as stacked columns: a missing interval is a hole, not a slope. */
export function classTimeFigure(
  heat: Pick<ServiceHeat, 'axis' | 'series'>,
  theme: ChartTheme,
  marks: ChartMark[],
  ghost: Ghost | null = null,
): ChartFigure {
  const { times, window, step_seconds: step } = heat.axis
  const series = classSeries(heat)
  const unit = series[0]?.line.unit ?? 'bytes'
  const totals = times.map((_, index) => series.reduce((sum, { line }) => sum + (line.values[index] ?? 0), 0))
  const classes = classSeries({ series: ghost?.lines ?? [] })
  // In the colour of a class it would not be seen over columns of that class.
  const others = classes.map(({ name, line }) => ({ line: { ...line, label: name }, colour: theme.text }))
  const scale = scaleFor(unit, Math.max(0, ghostPeak(others, true), ...totals))
  const start = Date.parse(window.start) / 1000
  const end = Date.parse(window.end) / 1000
  const utc = utcHover(times)
  const width = stepOf(times, step) * 1000
  const gaps = gapColumns(
    times,
    series.map(({ line }) => line.values),
    width / 1000,
    theme,
  )
  const data = series.map(({ name, line }): Data => {
    return {
      type: 'bar',
      name,
      x: times.map(plotTime),
      y: line.values.map((value) => (value === null ? null : value / scale.divisor)),
      width,
      offset: -width,
      marker: { color: heatColours[name], line: { width: 0 } },
      hovertemplate: `%{y:,.3~g} ${scale.unit}`,
    }
  })
  return {
    data: [utc.trace, gaps, ...data, ...ghostTraces(ghost, others, { ...scale, stacked: true })],
    layout: {
      ...baseLayout(theme),
      margin: { l: 56, r: 16, t: markMargin, b: 40, pad: 0 },
      barmode: 'stack',
      bargap: 0,
      xaxis: timeAxis(theme, start, end),
      yaxis: titledAxis(theme, scale.unit, {
        rangemode: 'tozero',
        nticks: 5,
      }),
      yaxis9: utc.axis,
      ...markShapes(theme, marks, start, end),
    },
    table: seriesTable(times, [
      ...series.map(({ name, line }) => ({ label: `${name} (${unitLabel(unit)})`, values: line.values })),
      ...ghostColumns(ghost === null ? null : { ...ghost, lines: others.map(({ line }) => line) }, times, step),
    ]),
  }
}
