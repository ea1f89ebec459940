import { relativeSeconds, toRfc3339 } from './units/time'

/** What a view is compared with: itself earlier or before an event, or another host or service at the same time. */
export type Comparison =
  { kind: 'earlier'; seconds: number; label: string } | { kind: 'host' | 'service' | 'event'; id: string }

/** The earlier times offered, by their form in the URL. */
export const earlierChoices = [
  { value: '-1h', seconds: 3600, label: '1 hour before' },
  { value: '-1d', seconds: 86_400, label: '1 day before' },
  { value: '-7d', seconds: 7 * 86_400, label: '7 days before' },
] as const

const namedKinds = ['host', 'service', 'event'] as const

/** A comparison from its URL form, `-1d`, `host:<id>`, `service:<id>` or `event:<id>`; null when it is not one. */
export function readComparison(text: string | undefined): Comparison | null {
  if (text === undefined) return null
  const earlier = earlierChoices.find((choice) => choice.value === text)
  if (earlier !== undefined) return { kind: 'earlier', seconds: earlier.seconds, label: earlier.label }
  const kind = namedKinds.find((name) => text.startsWith(`${name}:`))
  const id = kind === undefined ? '' : text.slice(kind.length + 1)
  return kind === undefined || id === '' ? null : { kind, id }
}

/** The URL form of a comparison with another host or service, or with the time before an event. */
export function writeComparison(kind: (typeof namedKinds)[number], id: string): string {
  return `${kind}:${id}`
}

/** Where the other side of a comparison lies. */
export interface OtherSide {
  /** How much earlier it is, in seconds. */
  shiftSeconds: number
  /** From when on this side it has a counterpart, Unix seconds. */
  fromSeconds: number
}

/**
 * Where the other side of a time range lies; null where it has none: an event that is not within the range. Against the
 * time before an event, what follows it is set beside as much time before it.
 */
export function otherSide(
  comparison: Comparison,
  window: { start: number; end: number },
  eventSeconds: number | undefined,
): OtherSide | null {
  if (comparison.kind === 'earlier') return { shiftSeconds: comparison.seconds, fromSeconds: window.start }
  if (comparison.kind !== 'event') return { shiftSeconds: 0, fromSeconds: window.start }
  if (eventSeconds === undefined || eventSeconds <= window.start || eventSeconds >= window.end) return null
  return { shiftSeconds: window.end - eventSeconds, fromSeconds: eventSeconds }
}

/** A time of the API moved earlier; one that is relative to now stays so, so that it moves with the clock. */
export function earlierTime(text: string | undefined, shiftSeconds: number): string {
  const relative = text === undefined ? 0 : relativeSeconds(text)
  if (relative !== null) return `-${Math.round((relative + shiftSeconds) / 60)}m`
  return toRfc3339(Date.parse(text ?? '') / 1000 - shiftSeconds)
}

/** How a comparison is spoken of: the other side, and what is on each side. */
export interface ComparisonWords {
  /** `1 day before`, `before deploy: v2`, or the name of a host or service. */
  other: string
  /** The same after "than". */
  than: string
  now: string
  then: string
}

/** The words for a comparison; `name` is that of the other host or service, or the text of the event. */
export function comparisonWords(comparison: Comparison, name: string): ComparisonWords {
  if (comparison.kind === 'earlier')
    return { other: comparison.label, than: comparison.label, now: 'now', then: 'then' }
  if (comparison.kind === 'event')
    return { other: `before ${name}`, than: `before ${name}`, now: 'after', then: 'before' }
  const at = comparison.kind === 'host' ? `on ${name}` : `in ${name}`
  return { other: name, than: at, now: 'here', then: at }
}
