import type { Data } from 'plotly.js'
import type { Ledger, Series } from '../../api/_generated/schema'
import { moveColours, type ChartTheme } from '../../lib/palette'
import { plotText } from '../../lib/text/escape'
import { plotTime } from '../../lib/units/time'
import { scaleFor, unitLabel } from '../../lib/units/units'
import { axis, baseLayout, gapColumns, seriesTable, stepOf, timeAxis, utcHover } from '../baseLayout'
import type { ChartFigure } from '../chartFigure'
import { markMargin, markShapes, noMarks, type ChartMark } from '../eventMarks'
import { ghostColumns, ghostPeak, ghostTraces, type Ghost } from '../ghost'

type Flow = Pick<Ledger, 'axis' | 'series' | 'resets'>

/** Parts of demotion by cause, in drawing order; shades of one colour, because they add up to one flow. */
const demotionCauses: [string, string][] = [
  ['demoted_kswapd', '#8f6bc8'],
  ['demoted_direct', '#b59be0'],
  ['demoted_khugepaged', '#6d4ca6'],
  ['demoted_proactive', '#d2c2ee'],
]

function hasValues(series: Series): boolean {
  return series.values.some((value) => value !== null)
}

/** Which series are drawn up (promotions), and which down (demotions, by cause where the kernel tells causes apart). */
export function flowSeries(series: Series[]): { series: Series; direction: 1 | -1; colour: string }[] {
  const find = (prefix: string) => series.find((line) => line.key.startsWith(prefix) && hasValues(line))
  const promoted = series.find((line) => /^promot(ed|ion)_pages/.test(line.key) && hasValues(line))
  const causes = demotionCauses.flatMap(([prefix, colour]) => {
    const line = find(prefix)
    return line === undefined ? [] : [{ series: line, direction: -1 as const, colour }]
  })
  const whole = series.find((line) => /^demot(ed|ion)_pages/.test(line.key) && hasValues(line))
  const up = promoted === undefined ? [] : [{ series: promoted, direction: 1 as const, colour: moveColours.promotion }]
  if (causes.length > 0) return [...up, ...causes]
  return whole === undefined ? up : [...up, { series: whole, direction: -1, colour: moveColours.demotion }]
}

const mostMarks = 24

/** One mark per stretch of `stepSeconds`, with all causes in it: a service's hosts may reset by the hundred. */
export function resetMarks(resets: Ledger['resets'], stepSeconds: number): ChartMark[] {
  const causes = new Map<number, { at: number; texts: Set<string> }>()
  for (const reset of resets) {
    const place = Math.floor(reset.at / stepSeconds)
    const known = causes.get(place)
    if (known === undefined) causes.set(place, { at: reset.at, texts: new Set([reset.cause]) })
    else known.texts.add(reset.cause)
  }
  return [...causes.values()].map(({ at, texts }) => ({
    atSeconds: at,
    text: `excluded: ${[...texts].join(', ')}`,
    kind: 'left_out',
  }))
}

/** Promotions above the line, demotions by cause below it, over time; resets and events are marks, and gaps stay gaps. */
export function ledgerFigure(
  ledger: Flow,
  theme: ChartTheme,
  events: ChartMark[] = noMarks,
  ghost: Ghost | null = null,
): ChartFigure {
  const { times, window, step_seconds: step } = ledger.axis
  const flows = flowSeries(ledger.series)
  const others = flowSeries(ghost?.lines ?? []).map(({ series, ...drawn }) => ({ line: series, ...drawn }))
  let peak = ghostPeak(others, true)
  for (const flow of flows) for (const value of flow.series.values) peak = Math.max(peak, value ?? 0)
  const unit = flows[0]?.series.unit ?? 'pages_per_s'
  const scale = scaleFor(unit, peak)
  const start = Date.parse(window.start) / 1000
  const end = Date.parse(window.end) / 1000
  const width = stepOf(times, step) * 1000
  const gaps = gapColumns(
    times,
    flows.map((flow) => flow.series.values),
    width / 1000,
    theme,
  )
  const utc = utcHover(times)
  const bars = flows.map(({ series, direction, colour }): Data => {
    const scaled = series.values.map((value) => (value === null ? null : (direction * value) / scale.divisor))
    return {
      type: 'bar',
      name: plotText(series.label),
      x: times.map(plotTime),
      y: scaled,
      width,
      offset: -width,
      marker: { color: colour, line: { width: 0 } },
      customdata: series.values.map((value) => (value === null ? 0 : value / scale.divisor)),
      hovertemplate: `%{customdata:,.3~g} ${scale.unit}`,
    }
  })
  const resets = resetMarks(
    ledger.resets.filter((reset) => reset.at >= start && reset.at <= end),
    Math.max(width / 1000, (end - start) / mostMarks),
  )
  return {
    data: [utc.trace, gaps, ...bars, ...ghostTraces(ghost, others, { ...scale, stacked: true })],
    layout: {
      ...baseLayout(theme),
      barmode: 'relative',
      bargap: 0,
      margin: { l: 64, r: 16, t: markMargin, b: 40, pad: 0 },
      xaxis: timeAxis(theme, start, end),
      yaxis: {
        ...axis(theme),
        fixedrange: true,
        nticks: 6,
        zeroline: true,
        zerolinecolor: theme.dimmed,
        title: { text: `${scale.unit}, up: promoted`, font: { size: 11 }, standoff: 6 },
        ...(peak === 0 ? { range: [-1, 1] } : {}),
      },
      yaxis9: utc.axis,
      ...markShapes(theme, [...resets, ...events], start, end),
    },
    table: seriesTable(times, [
      ...ledger.series.map((line) => ({ label: `${line.label} (${unitLabel(line.unit)})`, values: line.values })),
      ...ghostColumns(ghost, times, step),
    ]),
  }
}
