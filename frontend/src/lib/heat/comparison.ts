/** What a heatmap is compared with: the same host earlier, or another host of the service at the same time. */
export type Comparison = { kind: 'earlier'; seconds: number; label: string } | { kind: 'host'; hostId: string }

/** The earlier times offered, by their form in the URL. */
export const earlierChoices = [
  { value: '-1h', seconds: 3600, label: '1 hour before' },
  { value: '-1d', seconds: 86_400, label: '1 day before' },
  { value: '-7d', seconds: 7 * 86_400, label: '7 days before' },
] as const

const hostPrefix = 'host:'

/** A comparison from its URL form, `-1d` or `host:<id>`; null when it is not one. */
export function readComparison(text: string | undefined): Comparison | null {
  if (text === undefined) return null
  const earlier = earlierChoices.find((choice) => choice.value === text)
  if (earlier !== undefined) return { kind: 'earlier', seconds: earlier.seconds, label: earlier.label }
  const hostId = text.startsWith(hostPrefix) ? text.slice(hostPrefix.length) : ''
  return hostId === '' ? null : { kind: 'host', hostId }
}

/** The URL form of a comparison with another host. */
export function hostComparison(hostId: string): string {
  return `${hostPrefix}${hostId}`
}

/** How much earlier the other side is, in seconds. */
export function shiftOf(comparison: Comparison): number {
  return comparison.kind === 'earlier' ? comparison.seconds : 0
}

/** How a comparison is spoken of: the other side, and what is on each side. */
export interface ComparisonWords {
  /** `1 day before`, or a host's name. */
  other: string
  /** The same after "than". */
  than: string
  now: string
  then: string
}

/** The words for a comparison; `hostName` is the name of the other host where it is one. */
export function comparisonWords(comparison: Comparison, hostName: string): ComparisonWords {
  return comparison.kind === 'earlier'
    ? { other: comparison.label, than: comparison.label, now: 'now', then: 'then' }
    : { other: hostName, than: `on ${hostName}`, now: 'here', then: `on ${hostName}` }
}
