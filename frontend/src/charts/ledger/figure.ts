import type { Data } from 'plotly.js'
import type { Ledger, Series } from '../../api/_generated/schema'
import { damonColours, moveColours, seriesColour, type ChartTheme } from '../../lib/palette'
import { plotText } from '../../lib/text/escape'
import { plotTime } from '../../lib/units/time'
import { scaleFor, unitLabel } from '../../lib/units/units'
import { baseLayout, gapColumns, seriesTable, stepOf, timeAxis, titledAxis, utcHover } from '../baseLayout'
import type { ChartFigure } from '../chartFigure'
import { markMargin, markShapes, noMarks, type ChartMark } from '../eventMarks'
import { ghostColumns, ghostPeak, ghostTraces, type Ghost } from '../ghost'

type Answer = Pick<Ledger, 'axis' | 'series' | 'resets' | 'page_bytes'>

/** One flow of pages: up to faster memory or down from it. */
export interface Flow {
  series: Series
  direction: 1 | -1
  colour: string
  /** Told apart by stripes, too. */
  striped?: boolean
}

/** Parts of demotion by cause, in drawing order; shades of one colour, because they add up to one flow. */
const demotionCauses: [string, string][] = [
  ['demoted_kswapd', '#8f6bc8'],
  ['demoted_direct', '#b59be0'],
  ['demoted_khugepaged', '#6d4ca6'],
  ['demoted_proactive', '#d2c2ee'],
]

/** Whether anything of it was counted. */
export function hasValues(series: Series): boolean {
  return series.values.some((value) => value !== null)
}

const damonFlows = [
  ['damon_promoted_bytes', 1, damonColours.promotion],
  ['damon_demoted_bytes', -1, damonColours.demotion],
] as const

/** All series, with what DAMON moved in pages of the hosts; left out where their pages differ in size. */
export function seriesInPages({ series, page_bytes: pageBytes }: Pick<Ledger, 'series' | 'page_bytes'>): Series[] {
  return series.flatMap((line) => {
    if (!damonFlows.some(([key]) => key === line.key)) return [line]
    if (pageBytes === null) return []
    const values = line.values.map((value) => (value === null ? null : value / pageBytes))
    return [{ ...line, unit: 'pages_per_s', values }]
  })
}

/** What another ledger is drawn as beside one. */
export function linesInPages(ledger: Ledger): { axis: Ledger['axis']; lines: Series[] } {
  return { axis: ledger.axis, lines: seriesInPages(ledger) }
}

/**
 * Which series are drawn up (promotions), and which down (demotions, by cause where the kernel tells causes apart).
 * DAMON's come last: the counters of the others do not hold them.
 */
export function flowSeries(series: Series[]): Flow[] {
  const find = (prefix: string) => series.find((line) => line.key.startsWith(prefix) && hasValues(line))
  const promoted = series.find((line) => /^promot(ed|ion)_pages/.test(line.key) && hasValues(line))
  const causes = demotionCauses.flatMap(([prefix, colour]) => {
    const line = find(prefix)
    return line === undefined ? [] : [{ series: line, direction: -1 as const, colour }]
  })
  const whole = series.find((line) => /^demot(ed|ion)_pages/.test(line.key) && hasValues(line))
  const up: Flow[] = promoted === undefined ? [] : [{ series: promoted, direction: 1, colour: moveColours.promotion }]
  const down: Flow[] = whole === undefined ? [] : [{ series: whole, direction: -1, colour: moveColours.demotion }]
  const damon = damonFlows.flatMap(([key, direction, colour]): Flow[] => {
    const line = series.find((one) => one.key === key && one.unit === 'pages_per_s' && hasValues(one))
    return line === undefined ? [] : [{ series: line, direction, colour, striped: true }]
  })
  return [...up, ...(causes.length > 0 ? causes : down), ...damon]
}

/** What each service of a host promoted and demoted in its own cgroups; those in which nothing was counted are left out. */
export function serviceFlows(services: Ledger['services']): Flow[] {
  const counted = services.filter(({ moves }) => moves.some(hasValues))
  return counted.flatMap(({ service, moves }, place) =>
    moves.filter(hasValues).map((line): Flow => {
      const up = line.key === 'promoted_pages'
      const label = `${service}, ${up ? 'promoted' : 'demoted'}`
      return { series: { ...line, label }, direction: up ? 1 : -1, colour: seriesColour(place) }
    }),
  )
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
  ledger: Answer,
  theme: ChartTheme,
  events: ChartMark[] = noMarks,
  ghost: Ghost | null = null,
): ChartFigure {
  return flowsFigure(ledger, { flows: flowSeries(seriesInPages(ledger)), listed: ledger.series }, theme, events, ghost)
}

/** Flows over time, up and down from one line; the table holds `listed`. */
export function flowsFigure(
  ledger: Pick<Ledger, 'axis' | 'resets'>,
  { flows, listed }: { flows: Flow[]; listed: Series[] },
  theme: ChartTheme,
  events: ChartMark[] = noMarks,
  ghost: Ghost | null = null,
): ChartFigure {
  const { times, window, step_seconds: step } = ledger.axis
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
  const bars = flows.map(({ series, direction, colour, striped }): Data => {
    const scaled = series.values.map((value) => (value === null ? null : (direction * value) / scale.divisor))
    return {
      type: 'bar',
      name: plotText(series.label),
      x: times.map(plotTime),
      y: scaled,
      width,
      offset: -width,
      marker: {
        color: colour,
        line: { width: 0 },
        ...(striped === true
          ? { pattern: { shape: '/', size: 5, solidity: 0.3, bgcolor: colour, fgcolor: theme.surface } }
          : {}),
      },
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
      yaxis: titledAxis(theme, `${scale.unit}, up: promoted`, {
        nticks: 6,
        zeroline: true,
        zerolinecolor: theme.dimmed,
        ...(peak === 0 ? { range: [-1, 1] } : {}),
      }),
      yaxis9: utc.axis,
      ...markShapes(theme, [...resets, ...events], start, end),
    },
    table: seriesTable(times, [
      ...listed.map((line) => ({ label: `${line.label} (${unitLabel(line.unit)})`, values: line.values })),
      ...ghostColumns(ghost, times, step),
    ]),
  }
}
