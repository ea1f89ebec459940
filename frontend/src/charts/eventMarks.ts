import type { Layout } from 'plotly.js'
import type { ChartTheme } from '../lib/palette'
import { plotText } from '../lib/text/escape'
import { plotTime } from '../lib/units/time'
import { verticalLine } from './verticalLine'

const glyphs = {
  deploy: '▼',
  knob: '◆',
  incident: '✖',
  note: '●',
  warm_up: '◑',
  left_out: '▾',
  alert_fired: '▲',
  alert_resolved: '△',
} as const

/** What a mark stands for: an event by its kind, an alert that fired or was resolved, or a stretch that totals leave out. */
export type MarkKind = keyof typeof glyphs

/** A moment to mark on a chart over time: a deploy, a knob change, a reset. */
export interface ChartMark {
  atSeconds: number
  text: string
  kind: MarkKind
}

/** No marks; one array for all, so that charts are not drawn anew for an equal one. */
export const noMarks: ChartMark[] = []

/** The height above the plot, in pixels, that the marks' signs need. */
export const markMargin = 18

/** Marks closer together than this share of the window become one. */
const nearShare = 1 / 80
/** Texts in one mark; the rest is counted. */
const mostTexts = 5

/** The sign of a kind of mark; kinds that are new to this dashboard are notes. */
export function markKind(kind: string): MarkKind {
  return kind in glyphs ? (kind as MarkKind) : 'note'
}

/** The sign that stands for a kind of mark, on charts and in lists. */
export function markGlyph(kind: MarkKind): string {
  return glyphs[kind]
}

interface MarkGroup {
  kind: MarkKind
  atSeconds: number
  texts: string[]
}

/** Marks that may become one: those of the same sort. */
function sortOf(kind: MarkKind): 'left_out' | 'alert_fired' | 'alert_resolved' | 'event' {
  return kind === 'left_out' || kind === 'alert_fired' || kind === 'alert_resolved' ? kind : 'event'
}

/** Marks in the window, those that would lie upon each other joined; events, alerts and left-out stretches stay apart. */
export function groupMarks(marks: ChartMark[], start: number, end: number): MarkGroup[] {
  const groups: MarkGroup[] = []
  const near = (end - start) * nearShare
  const inside = marks.filter(({ atSeconds }) => atSeconds >= start && atSeconds <= end)
  for (const mark of inside.sort((a, b) => a.atSeconds - b.atSeconds)) {
    const last = groups.findLast((group) => sortOf(group.kind) === sortOf(mark.kind))
    if (last !== undefined && mark.atSeconds - last.atSeconds < near) last.texts.push(mark.text)
    else groups.push({ kind: mark.kind, atSeconds: mark.atSeconds, texts: [mark.text] })
  }
  return groups
}

function hoverText(texts: string[]): string {
  const shown = [...new Set(texts)].slice(0, mostTexts).map((text) => plotText(text.slice(0, 200)))
  const rest = texts.length - shown.length
  return [...shown, ...(rest > 0 && texts.length > mostTexts ? [`and ${rest} more`] : [])].join('<br>')
}

const dashes = { event: 'solid', left_out: 'dot', alert_fired: 'solid', alert_resolved: 'dash' } as const

function markColour(kind: MarkKind, theme: ChartTheme): string {
  const sort = sortOf(kind)
  if (sort === 'event') return theme.mark
  return sort === 'alert_fired' ? theme.beyond : theme.dimmed
}

/**
 * Verticals over a chart with the time on its x axis: events and fired alerts solid, resolved ones dashed,
 * left-out stretches dotted, each with its sign
 * above the plot and its text on hover. Texts come from people and programs and are escaped.
 */
export function markShapes(
  theme: ChartTheme,
  marks: ChartMark[],
  startSeconds: number,
  endSeconds: number,
): Required<Pick<Layout, 'shapes' | 'annotations'>> {
  const groups = groupMarks(marks, startSeconds, endSeconds)
  const colour = (group: MarkGroup) => markColour(group.kind, theme)
  return {
    shapes: groups.map((group) =>
      verticalLine(plotTime(group.atSeconds), { color: colour(group), width: 1, dash: dashes[sortOf(group.kind)] }),
    ),
    annotations: groups.map((group) => ({
      x: plotTime(group.atSeconds),
      y: 1,
      xref: 'x' as const,
      yref: 'paper' as const,
      yanchor: 'bottom' as const,
      text: glyphs[group.kind],
      hovertext: hoverText(group.texts),
      captureevents: true,
      showarrow: false,
      font: { size: group.kind === 'left_out' ? 12 : 10, color: colour(group) },
    })),
  }
}
