import type { Data } from 'plotly.js'
import { gapColours, type ChartTheme } from '../../lib/palette'
import { middleCut, plotText } from '../../lib/text/escape'
import { formatDuration, formatLocal, formatUtc, plotTime } from '../../lib/units/time'
import { axis, baseLayout, hatched, timeAxis } from '../baseLayout'
import type { ChartFigure } from '../chartFigure'

/** Why intervals are missing, as the service names it. */
export type GapKind = keyof typeof gapColours

/** A stretch of a host's time without intervals. */
export interface Gap {
  from: string
  to: string
  kind: GapKind
  why: string
}

/** A host with its gaps in its part of the window. */
export interface HostGaps {
  name: string
  window: { start: string; end: string }
  gaps: Gap[]
}

/** Kinds of gaps in words, in the order of the legend. */
export const gapWords: Record<GapKind, string> = {
  silent: 'host silent',
  restart: 'restart',
  new_stream: 'agent reinstalled',
  dropped: 'dropped by the agent',
  paused: 'paused',
  on_the_way: 'in transit',
  unknown: 'cause unknown',
}

/** Hosts beyond this are left out of the chart; the table has all. */
export const mostHosts = 30

/** Hosts with gaps, those with the longest in sum first. */
export function hostsWithGaps(hosts: HostGaps[]): HostGaps[] {
  const missing = ({ gaps }: HostGaps) => gaps.reduce((sum, { from, to }) => sum + Date.parse(to) - Date.parse(from), 0)
  return hosts.filter(({ gaps }) => gaps.length > 0).sort((a, b) => missing(b) - missing(a))
}

/** Height of the timeline: one line a host. */
export function gapTimelineHeight(hosts: number): number {
  return 62 + 22 * Math.max(3, Math.min(hosts, mostHosts))
}

/** When which host sent nothing, and why: a row for each host, the time before it was enrolled hatched. */
export function gapTimelineFigure(
  hosts: HostGaps[],
  window: { start: string; end: string },
  theme: ChartTheme,
): ChartFigure {
  const [start, end] = [Date.parse(window.start) / 1000, Date.parse(window.end) / 1000]
  const rows = hostsWithGaps(hosts)
  const shown = rows.slice(0, mostHosts)
  const kinds = (Object.keys(gapWords) as GapKind[]).filter((kind) =>
    shown.some(({ gaps }) => gaps.some((gap) => gap.kind === kind)),
  )
  const bars = kinds.map((kind): Data => {
    const own = shown.flatMap(({ name, gaps }) =>
      gaps.filter((gap) => gap.kind === kind).map((gap) => ({ name, ...gap })),
    )
    return {
      type: 'bar',
      orientation: 'h',
      name: gapWords[kind],
      y: own.map(({ name }) => name),
      base: own.map(({ from }) => plotTime(Math.max(start, Date.parse(from) / 1000))),
      // Lengths on a date axis are milliseconds.
      x: own.map(({ from, to }) => Math.max(0, Date.parse(to) - Math.max(start * 1000, Date.parse(from)))),
      width: own.map(() => 0.6),
      customdata: own.map(hoverText),
      hovertemplate: '%{customdata}<extra></extra>',
      marker: { color: gapColours[kind], line: { width: 1, color: gapColours[kind] } },
    } as Data
  })
  return {
    data: [notEnrolled(shown, start, theme), ...bars],
    layout: {
      ...baseLayout(theme),
      barmode: 'overlay',
      hovermode: 'closest',
      margin: { l: 170, r: 16, t: 6, b: 40, pad: 4 },
      xaxis: { ...timeAxis(theme, start, end), showspikes: false, showgrid: true },
      yaxis: {
        ...axis(theme),
        fixedrange: true,
        type: 'category',
        categoryorder: 'array',
        categoryarray: shown.map(({ name }) => name).reverse(),
        range: [shown.length - Math.max(3, shown.length) - 0.5, shown.length - 0.5],
        tickmode: 'array',
        tickvals: shown.map(({ name }) => name),
        ticktext: shown.map(({ name }) => plotText(middleCut(name, 24))),
        tickfont: { size: 11, color: theme.text },
      },
    },
    table: {
      columns: ['host', 'from (UTC)', 'to (UTC)', 'length (seconds)', 'kind', 'why'],
      rows: rows.flatMap(({ name, gaps }) =>
        gaps.map(({ from, to, kind, why }) => [
          name,
          formatUtc(new Date(from)),
          formatUtc(new Date(to)),
          (Date.parse(to) - Date.parse(from)) / 1000,
          gapWords[kind],
          why,
        ]),
      ),
    },
  }
}

function hoverText({ name, from, to, kind, why }: Gap & { name: string }): string {
  return [
    `<b>${plotText(name)}</b>: ${gapWords[kind]}`,
    `${formatDuration((Date.parse(to) - Date.parse(from)) / 1000)} from ${formatLocal(new Date(from))}`,
    plotText(why),
  ].join('<br>')
}

/** What was not expected, because a host was not enrolled yet, is hatched: it is no gap. */
function notEnrolled(shown: HostGaps[], start: number, theme: ChartTheme): Data {
  const late = shown.filter(({ window }) => Date.parse(window.start) / 1000 > start + 60)
  return {
    type: 'bar',
    orientation: 'h',
    name: 'not enrolled',
    y: late.map(({ name }) => name),
    base: late.map(() => plotTime(start)),
    x: late.map(({ window }) => Date.parse(window.start) - start * 1000),
    width: late.map(() => 0.6),
    hovertemplate: 'not enrolled yet<extra></extra>',
    marker: hatched(theme),
  } as Data
}
