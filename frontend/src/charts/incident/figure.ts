import type { Data, Layout } from 'plotly.js'
import type { Incident } from '../../api/_generated/schema'
import { alertStateColour } from '../../lib/alerts'
import { translucent, type ChartTheme } from '../../lib/palette'
import { plotText } from '../../lib/text/escape'
import { verdictText } from '../../lib/text/verdicts'
import { plotTime } from '../../lib/units/time'
import { unitLabel } from '../../lib/units/units'
import { baseLayout, seriesTable, stepOf, timeAxis, utcHover } from '../baseLayout'
import type { ChartFigure } from '../chartFigure'
import { markKind, markShapes } from '../eventMarks'
import { verticalLine } from '../verticalLine'
import { absentRow, lineRow, ribbonRow, type AxisLayouts, type Place } from './rows'

type Shapes = NonNullable<Layout['shapes']>
type Annotations = NonNullable<Layout['annotations']>

/** Of an alert with its moments, or of a host alone. */
export type ShownIncident = Pick<Incident, 'window' | 'axis' | 'ribbon' | 'rows' | 'events'> &
  Partial<Pick<Incident, 'onset'>>

/** A stretch of the axis in Unix seconds. */
export interface Zoom {
  start: number
  end: number
}

/** Heights of rows relative to each other. */
const heights = { ribbon: 0.34, lines: 1, absent: 0.34 } as const
/** The share of the plot above each row, for its title. */
const titleShare = 0.042
/** Above the plot: signs of events, and a line for the name of each of the alert's moments. */
const topMargin = 16
const lineHeight = 13

function seconds(time: string): number {
  return Date.parse(time) / 1000
}

/** The parts of the plot for rows of these heights, the first at the top. */
export function placeRows(weights: number[]): Place[] {
  const whole = weights.reduce((sum, weight) => sum + weight, 0)
  const left = 1 - titleShare * weights.length
  let top = 1
  return weights.map((weight, index) => {
    const high = top - titleShare
    const low = Math.max(0, high - (left * weight) / whole)
    top = low
    return { axis: index + 1, domain: [low, high] }
  })
}

interface Moment {
  at: number
  label: string
  colour: string
  dash: 'dash' | 'solid' | 'dot'
  xanchor: 'left' | 'right'
}

/** When the condition began to hold, and the alert fired and was resolved; moments that are one have one name. */
export function momentsOf(onset: Incident['onset'], theme: ChartTheme): Moment[] {
  const began = onset.held_at ?? onset.pending_at ?? onset.fired_at
  const found: Moment[] = []
  if (began !== null && began !== onset.fired_at) {
    const label = onset.held_at === null ? 'pending' : 'condition holds'
    found.push({ at: seconds(began), label, colour: theme.dimmed, dash: 'dot', xanchor: 'right' })
  }
  if (onset.fired_at !== null) {
    const at = seconds(onset.fired_at)
    found.push({ at, label: 'fired', colour: theme.beyond, dash: 'solid', xanchor: 'left' })
  }
  if (onset.resolved_at !== null) {
    const at = seconds(onset.resolved_at)
    found.push({ at, label: 'resolved', colour: theme.dimmed, dash: 'dash', xanchor: 'left' })
  }
  return found
}

/** The spans in which the condition held before the alert fired, and in which it fired, over all rows. */
function shades(onset: Incident['onset'], end: number, theme: ChartTheme): Shapes {
  const began = onset.held_at ?? onset.pending_at
  const over = onset.resolved_at === null ? end : seconds(onset.resolved_at)
  const fired = onset.fired_at === null ? over : seconds(onset.fired_at)
  const box = { type: 'rect' as const, xref: 'x' as const, yref: 'paper' as const, y0: 0, y1: 1, line: { width: 0 } }
  const shade = (from: number, to: number, colour: string, opacity: number) => ({
    ...box,
    x0: plotTime(from),
    x1: plotTime(Math.min(to, end)),
    fillcolor: translucent(colour, opacity),
    layer: 'below' as const,
  })
  return [
    ...(began === null ? [] : [shade(seconds(began), fired, alertStateColour('pending', theme.name), 0.2)]),
    ...(onset.fired_at === null ? [] : [shade(fired, over, alertStateColour('firing', theme.name), 0.13)]),
  ]
}

function momentMarks(moments: Moment[], range: Zoom): { shapes: Shapes; annotations: Annotations } {
  const inside = moments.filter(({ at }) => at >= range.start && at <= range.end)
  const width = range.end - range.start
  return {
    shapes: inside.map(({ at, colour, dash }) => verticalLine(plotTime(at), { color: colour, width: 1.5, dash })),
    annotations: inside.map(({ at, label, colour, xanchor }, index) => {
      const share = (at - range.start) / width
      return {
        x: plotTime(at),
        y: 1,
        xref: 'x' as const,
        yref: 'paper' as const,
        yanchor: 'bottom' as const,
        // A name that would leave the plot stands at the other side of its line.
        xanchor: share > 0.85 ? ('right' as const) : share < 0.12 ? ('left' as const) : xanchor,
        yshift: topMargin + index * lineHeight,
        text: label,
        showarrow: false,
        font: { size: 11, color: colour },
      }
    }),
  }
}

/** The verdict, then tier moves, free memory, pressure, refaults and throughput over one time, with the alert's moments and events. */
export function incidentFigure(incident: ShownIncident, theme: ChartTheme, zoom: Zoom | null = null): ChartFigure {
  const { times, window, step_seconds: stated } = incident.axis
  const whole = { start: seconds(window.start), end: seconds(window.end) }
  const range = zoom ?? whole
  const step = stepOf(times, stated)
  const hasRibbon = incident.ribbon.length > 0
  const weights = [
    ...(hasRibbon ? [heights.ribbon] : []),
    ...incident.rows.map(({ status }) => (status === 'ok' ? heights.lines : heights.absent)),
  ]
  const places = placeRows(weights)
  const drawn: { place: Place; title: string }[] = []
  const data: Data[] = []
  const utc = utcHover(times)
  const events = markShapes(
    theme,
    incident.events.map(({ at, kind, text }) => ({ atSeconds: seconds(at), kind: markKind(kind), text })),
    range.start,
    range.end,
  )
  const { onset } = incident
  const moments = momentMarks(onset === undefined ? [] : momentsOf(onset, theme), range)
  const shapes: Shapes = [
    ...(onset === undefined ? [] : shades(onset, whole.end, theme)),
    ...events.shapes,
    ...moments.shapes,
  ]
  const annotations: Annotations = [...events.annotations, ...moments.annotations]
  let axes: AxisLayouts = {}
  places.forEach((place, index) => {
    const row = incident.rows[index - (hasRibbon ? 1 : 0)]
    if (hasRibbon && index === 0) {
      const made = ribbonRow(incident.ribbon, whole.start, whole.end, place, theme)
      data.push(...made.data)
      axes = { ...axes, ...made.layout }
      drawn.push({ place, title: made.title })
    } else if (row !== undefined && row.status === 'ok') {
      const made = lineRow(row, incident.axis, step, place, theme)
      data.push(...made.data)
      axes = { ...axes, ...made.layout }
      drawn.push({ place, title: made.title })
    } else if (row !== undefined) {
      const made = absentRow(row, place, theme)
      shapes.push(...made.shapes)
      annotations.push(...made.annotations)
      drawn.push({ place, title: made.title })
    }
  })
  const titles = drawn.map(({ place, title }) => ({
    x: 0,
    y: place.domain[1],
    xref: 'paper' as const,
    yref: 'paper' as const,
    xanchor: 'left' as const,
    yanchor: 'bottom' as const,
    text: plotText(title),
    showarrow: false,
    font: { size: 11, color: theme.text },
  }))
  const lowest = axisOfLastLines(incident, hasRibbon)
  return {
    data: [utc.trace, ...data],
    layout: {
      ...baseLayout(theme),
      ...(axes as Partial<Layout>),
      hovermode: 'x unified',
      // One crosshair and one box for all rows: they share the axis of time.
      ...({ hoversubplots: 'axis' } as object),
      barmode: 'overlay',
      // A verdict's word is left out where it does not fit its stretch; hovering names it.
      uniformtext: { mode: 'hide', minsize: 9 },
      margin: { l: 52, r: 12, t: topMargin + lineHeight * moments.annotations.length + 6, b: 36, pad: 0 },
      xaxis: {
        ...timeAxis(theme, range.start, range.end),
        anchor: lowest,
        position: 0,
        spikesnap: 'cursor',
        spikecolor: theme.dimmed,
      } as Partial<Layout['xaxis']>,
      yaxis9: utc.axis,
      shapes,
      annotations: [...annotations, ...titles],
    },
    table: tableOf(incident),
  }
}

/** The axis under which the times stand: free, at the bottom, where the last row has no lines. */
function axisOfLastLines(incident: ShownIncident, hasRibbon: boolean): string {
  const last = incident.rows.at(-1)
  if (last === undefined || last.status !== 'ok') return 'free'
  const number = incident.rows.length + (hasRibbon ? 1 : 0)
  return number === 1 ? 'y' : `y${number}`
}

function tableOf(incident: ShownIncident): ChartFigure['table'] {
  const series = incident.rows.flatMap((row) => row.series)
  const table = seriesTable(
    incident.axis.times,
    series.map((line) => ({ label: `${line.label} (${unitLabel(line.unit) || 'count'})`, values: line.values })),
  )
  return {
    columns: [...table.columns, 'verdict'],
    rows: table.rows.map((row, index) => [...row, verdictAt(incident.ribbon, incident.axis.times[index] ?? 0)]),
  }
}

function verdictAt(ribbon: Incident['ribbon'], at: number): string | null {
  const found = ribbon.find((stretch) => seconds(stretch.from) < at && at <= seconds(stretch.to))
  return found === undefined ? null : verdictText(found.state).label
}
