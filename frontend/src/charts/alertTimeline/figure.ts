import type { Data } from 'plotly.js'
import { alertState, alertStateColour, type AlertSeverity, type AlertState } from '../../lib/alerts'
import type { ChartTheme } from '../../lib/palette'
import { middleCut, plotText } from '../../lib/text/escape'
import { formatDuration, formatLocal, formatUtc, plotTime } from '../../lib/units/time'
import { axis, baseLayout, timeAxis } from '../baseLayout'
import type { ChartFigure } from '../chartFigure'

/** A stretch of time in which an alert was in one state; `to` null while it goes on. */
export interface TimelineSpan {
  alert_id: string
  rule_name: string
  severity: AlertSeverity
  subject: { kind: string; name: string }
  state: AlertState
  from: string
  to: string | null
}

export type TimelineRows = 'rule' | 'subject'

/** Rows beyond this are left out of the chart; the table has all. */
export const mostRows = 40

const gravity: Record<AlertSeverity, number> = { critical: 0, warning: 1, info: 2 }

function rowName(span: TimelineSpan, by: TimelineRows): string {
  return by === 'rule' ? span.rule_name : span.subject.name
}

function seconds(span: TimelineSpan, end: number): number {
  return (span.to === null ? end : Date.parse(span.to) / 1000) - Date.parse(span.from) / 1000
}

/** The rows of the timeline: the most severe first, and of equal ones those that fired longest. */
export function timelineRows(spans: TimelineSpan[], by: TimelineRows, end: number): string[] {
  const found = new Map<string, { gravity: number; firing: number }>()
  for (const span of spans) {
    const name = rowName(span, by)
    const row = found.get(name) ?? { gravity: 3, firing: 0 }
    row.gravity = Math.min(row.gravity, gravity[span.severity])
    if (span.state === 'firing') row.firing += seconds(span, end)
    found.set(name, row)
  }
  return [...found].sort(([, a], [, b]) => a.gravity - b.gravity || b.firing - a.firing).map(([name]) => name)
}

function hoverText(span: TimelineSpan, end: number): string {
  const open = span.to === null ? ', ongoing' : ''
  return [
    `<b>${plotText(span.rule_name)}</b> (${span.severity})`,
    plotText(`${span.subject.kind} ${span.subject.name}`),
    `${alertState(span.state).label} for ${formatDuration(seconds(span, end))}${open}`,
    `from ${formatLocal(new Date(span.from))}`,
  ].join('<br>')
}

const drawn: AlertState[] = ['no_data', 'pending', 'firing']

/** Height of the timeline: one line a row. */
export function timelineHeight(rows: number): number {
  return 62 + 24 * Math.max(4, Math.min(rows, mostRows))
}

/** When which alert was pending, firing or without data: a row for each rule or subject. */
export function alertTimelineFigure(
  spans: TimelineSpan[],
  by: TimelineRows,
  window: { start: string; end: string },
  theme: ChartTheme,
): ChartFigure {
  const [start, end] = [Date.parse(window.start) / 1000, Date.parse(window.end) / 1000]
  const rows = timelineRows(spans, by, end)
  const shown = rows.slice(0, mostRows)
  const data = drawn.map((state): Data => {
    const own = spans.filter((span) => span.state === state && shown.includes(rowName(span, by)))
    return {
      type: 'bar',
      orientation: 'h',
      name: alertState(state).label,
      y: own.map((span) => rowName(span, by)),
      base: own.map((span) => plotTime(Math.max(start, Date.parse(span.from) / 1000))),
      // Lengths on a date axis are milliseconds.
      x: own.map((span) => {
        const from = Math.max(start, Date.parse(span.from) / 1000)
        const to = Math.min(end, span.to === null ? end : Date.parse(span.to) / 1000)
        return Math.max(0, to - from) * 1000
      }),
      ids: own.map((span) => span.alert_id),
      customdata: own.map((span) => hoverText(span, end)),
      hovertemplate: '%{customdata}<extra></extra>',
      width: own.map(() => (state === 'firing' ? 0.7 : 0.4)),
      marker: {
        color: alertStateColour(state, theme.name),
        line: { width: own.map(() => (state === 'firing' ? 1 : 0)), color: alertStateColour(state, theme.name) },
      },
    } as Data
  })
  return {
    data,
    layout: {
      ...baseLayout(theme),
      barmode: 'overlay',
      hovermode: 'closest',
      margin: { l: 190, r: 16, t: 6, b: 40, pad: 4 },
      xaxis: { ...timeAxis(theme, start, end), showspikes: false, showgrid: true },
      yaxis: {
        ...axis(theme),
        fixedrange: true,
        type: 'category',
        categoryorder: 'array',
        categoryarray: [...shown].reverse(),
        range: [shown.length - Math.max(4, shown.length) - 0.5, shown.length - 0.5],
        tickmode: 'array',
        tickvals: shown,
        ticktext: shown.map((name) => plotText(middleCut(name, 26))),
        tickfont: { size: 11, color: theme.text },
      },
    },
    table: {
      columns: ['rule', 'severity', 'subject', 'state', 'from (UTC)', 'to (UTC)'],
      rows: spans.map((span) => [
        span.rule_name,
        span.severity,
        `${span.subject.kind} ${span.subject.name}`,
        alertState(span.state).label,
        formatUtc(new Date(span.from)),
        span.to === null ? null : formatUtc(new Date(span.to)),
      ]),
    },
  }
}
