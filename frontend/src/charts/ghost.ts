import type { Data } from 'plotly.js'
import type { Series, TimeAxis } from '../api/_generated/schema'
import { plotText } from '../lib/text/escape'
import { plotTime } from '../lib/units/time'
import { unitLabel } from '../lib/units/units'
import { breakGaps, stepOf } from './baseLayout'

/** What a chart says of the side that it is compared with, beside drawing it. */
export interface Named {
  /** The other side in words: `1 day before`, a name. */
  label: string
  /** Why there is nothing to draw, in a sentence; null where there is, and while it loads. */
  missing: string | null
}

/** What a chart that is not over time is compared with: the other side's whole answer, null where none can be drawn. */
export interface Beside<T> extends Named {
  answer: T | null
}

/** The other side's values at this side's places on the axis; null where it has none there. */
export function valuesAt(
  wanted: number[],
  { places, values }: { places: number[]; values: (number | null)[] },
): (number | null)[] {
  const found = new Map(places.map((place, index) => [place, values[index] ?? null]))
  return wanted.map((place) => found.get(place) ?? null)
}

/** What a chart over time is compared with: the other side's series on the chart's own time axis. */
export interface Ghost extends Named {
  /** Ends of the buckets on the chart's time axis, Unix seconds. */
  times: number[]
  stepSeconds: number | null
  lines: Series[]
}

/** How the other side is drawn: dashed and dimmed. */
export const besideOpacity = 0.65

/** Says that the other side has no data. */
export function missingWords(label: string): string {
  return `Nothing to compare with: no data for “${label}” in its time range.`
}

/** The other side's series moved later by `shiftSeconds`, without what has no counterpart before `fromSeconds`. */
export function moveGhost(
  label: string,
  { axis, lines }: { axis: Pick<TimeAxis, 'times' | 'step_seconds'>; lines: Series[] },
  { shiftSeconds, fromSeconds }: { shiftSeconds: number; fromSeconds: number },
): Ghost {
  const times = axis.times.map((time) => time + shiftSeconds)
  const first = times.findIndex((time) => time > fromSeconds)
  const kept = first < 0 ? times.length : first
  const moved = lines.map((line) => ({ ...line, values: line.values.slice(kept) }))
  const hasValues = moved.some((line) => line.values.some((value) => value !== null))
  return {
    label,
    times: times.slice(kept),
    stepSeconds: axis.step_seconds,
    lines: moved,
    missing: hasValues ? null : missingWords(label),
  }
}

/** The ghost of a chart that shows these series alone. */
export function narrowGhost(ghost: Ghost | null, keys: string[]): Ghost | null {
  if (ghost === null || ghost.missing !== null) return ghost
  const lines = ghost.lines.filter(({ key }) => keys.includes(key))
  const hasValues = lines.some((line) => line.values.some((value) => value !== null))
  return { ...ghost, lines, missing: hasValues ? null : missingWords(ghost.label) }
}

/** A line of the other side as a chart draws it: in the colour of its counterpart, up or down. */
export interface GhostLine {
  line: Series
  colour: string
  direction?: 1 | -1
}

/** The largest value that the ghost draws, so that one scale holds both sides. */
export function ghostPeak(lines: GhostLine[], stacked: boolean): number {
  return stackLines(lines, stacked).reduce(
    (peak, { tops }) => tops.reduce<number>((most, top) => Math.max(most, Math.abs(top ?? 0)), peak),
    0,
  )
}

/** Where each line runs: at its value, or on top of those before it that go the same way. */
function stackLines(lines: GhostLine[], stacked: boolean): (GhostLine & { tops: (number | null)[] })[] {
  const sums = new Map<number, number[]>()
  return lines.map((each) => {
    const direction = each.direction ?? 1
    const below = sums.get(direction) ?? []
    const tops = each.line.values.map((value, index) =>
      value === null ? null : direction * value + (stacked ? (below[index] ?? 0) : 0),
    )
    sums.set(
      direction,
      each.line.values.map((value, index) => (below[index] ?? 0) + direction * (value ?? 0)),
    )
    return { ...each, tops }
  })
}

/** The ghost as dashed, dimmed lines; over stacked columns they run along the tops that those had. */
export function ghostTraces(
  ghost: Ghost | null,
  lines: GhostLine[],
  { divisor, unit, stacked = false }: { divisor: number; unit: string; stacked?: boolean },
): Data[] {
  if (ghost === null) return []
  return stackLines(lines, stacked).map(({ line, colour, tops }): Data => {
    const drawn = breakGaps(ghost.times, tops, ghost.stepSeconds)
    const own = breakGaps(ghost.times, line.values, ghost.stepSeconds)
    return {
      type: 'scatter',
      mode: drawn.times.length < 2 ? 'markers' : 'lines',
      name: plotText(`${line.label}, ${ghost.label}`),
      x: drawn.times.map(plotTime),
      y: drawn.values.map((value) => (value === null ? null : value / divisor)),
      customdata: own.values.map((value) => (value === null ? 0 : value / divisor)),
      connectgaps: false,
      opacity: besideOpacity,
      line: { color: colour, width: 1.5, dash: 'dash' },
      marker: { size: 4, color: colour },
      hovertemplate: `%{customdata:,.3~g} ${plotText(unit)}`,
    }
  })
}

/** The ghost's lines at `times`: the value of the nearest bucket, at most half a step away. */
export function ghostAt(ghost: Ghost | null, times: number[], stepSeconds: number | null): Series[] {
  if (ghost === null || ghost.missing !== null) return []
  const reach = stepOf(times, stepSeconds) / 2
  let at = 0
  const places = times.map((time) => {
    const away = (index: number): number => Math.abs((ghost.times[index] ?? Infinity) - time)
    while (away(at + 1) <= away(at) && at + 1 < ghost.times.length) at += 1
    return away(at) <= reach ? at : null
  })
  return ghost.lines.map((line) => ({
    ...line,
    values: places.map((place) => (place === null ? null : (line.values[place] ?? null))),
  }))
}

/** Columns of the ghost beside a table over `times`. */
export function ghostColumns(
  ghost: Ghost | null,
  times: number[],
  stepSeconds: number | null,
): { label: string; values: (number | null)[] }[] {
  return ghostAt(ghost, times, stepSeconds).map((line) => ({
    label: `${line.label}, ${ghost?.label ?? ''} (${unitLabel(line.unit) || 'count'})`,
    values: line.values,
  }))
}

/** The lines of the ghost that stand beside lines of the chart, by key, in their colours. */
export function ghostOf(ghost: Ghost | null, drawn: { key: string; colour: string }[]): GhostLine[] {
  return drawn.flatMap(({ key, colour }) => {
    const line = ghost?.lines.find((other) => other.key === key)
    return line === undefined ? [] : [{ line, colour }]
  })
}
