import { useMemo } from 'react'
import { useQuery, type UseQueryResult } from '@tanstack/react-query'
import type { EventItem, Series, TimeAxis } from '../../../api/_generated/schema'
import { loadStateOf } from '../../../api/queries/base/loadState'
import type { TimeRange } from '../../../api/queries/base/range'
import { hostQuery } from '../../../api/queries/fleet/hosts'
import { serviceQuery } from '../../../api/queries/fleet/services'
import { missingWords, moveGhost, type Beside, type Ghost } from '../../../charts/ghost'
import {
  comparisonWords,
  earlierTime,
  otherSide,
  readComparison,
  type Comparison,
  type ComparisonWords,
  type OtherSide,
} from '../../../lib/comparison'
import { toRfc3339 } from '../../../lib/units/time'
import { resolveRange } from '../../../lib/url/timeRange'
import { useNow } from './useNow'
import { useTimeRange } from './useTimeRange'

/** What a page is of, whose charts are compared. */
export type ComparedNoun = 'host' | 'service' | 'fleet'

/** The other side that a page's charts over time are compared with. */
export interface TimeComparison {
  words: ComparisonWords
  /** Where it lies; null where there is none, and `why` says why. */
  side: OtherSide | null
  why: string | null
  /** Its time range as queries take it. */
  range: TimeRange
  /** The time range that it is set beside: the page's, or what follows the event. */
  ownRange: TimeRange
  /** The id of the other host or service; undefined where it is the page's own. */
  id: string | undefined
}

const sidelessWords = {
  event: 'The event to compare with is not within this time range: choose a range that holds it.',
  other: 'What the address compares with has no counterpart on this page.',
} as const

/** The text of an event after "before". */
export function eventName(event: Pick<EventItem, 'kind' | 'text'>): string {
  return `${event.kind}: ${event.text.length > 40 ? `${event.text.slice(0, 39)}…` : event.text}`
}

/** What follows an event, to be set beside as much time before it; the page's time range without one. */
function ownRangeOf(comparison: Comparison, range: TimeRange, side: OtherSide | null, end: number): TimeRange {
  if (side === null || comparison.kind !== 'event') return range
  return { from: toRfc3339(side.fromSeconds), to: toRfc3339(end), refreshMs: null }
}

function rangeOf(comparison: Comparison, range: TimeRange, side: OtherSide | null, end: number): TimeRange {
  if (side === null || (comparison.kind !== 'event' && comparison.kind !== 'earlier')) return range
  if (comparison.kind === 'earlier')
    return {
      ...range,
      from: earlierTime(range.from, side.shiftSeconds),
      to: earlierTime(range.to, side.shiftSeconds),
    }
  const [from, to] = [side.fromSeconds - side.shiftSeconds, end - side.shiftSeconds]
  return { from: toRfc3339(from), to: toRfc3339(to), refreshMs: null }
}

/**
 * What the charts of a page are compared with, from its address; null where with nothing. `noun` is what the page is of:
 * that alone can be compared with another of its kind, and the fleet with itself.
 */
export function useTimeComparison(
  compare: string | undefined,
  noun: ComparedNoun,
  events: EventItem[],
): TimeComparison | null {
  const { range } = useTimeRange()
  // Whole minutes, so that a range that moves with the clock asks once a minute.
  const minute = Math.floor(useNow(60_000).getTime() / 60_000) * 60
  const comparison = useMemo(() => readComparison(compare), [compare])
  const id = comparison !== null && comparison.kind === noun ? comparison.id : ''
  const host = useQuery({ ...hostQuery(id, null), enabled: noun === 'host' && id !== '' })
  const service = useQuery({ ...serviceQuery(id, range), enabled: noun === 'service' && id !== '' })
  const found = noun === 'host' ? host.data?.summary.name : service.data?.summary.name
  return useMemo(() => {
    if (comparison === null) return null
    const event = comparison.kind === 'event' ? events.find((item) => item.id === comparison.id) : undefined
    const name = event === undefined ? (found ?? id) : eventName(event)
    const window = resolveRange(range.from, range.to, minute)
    const fits = comparison.kind === 'earlier' || comparison.kind === 'event' || comparison.kind === noun
    const at = event === undefined ? undefined : Date.parse(event.at) / 1000
    const side = fits ? otherSide(comparison, window, at) : null
    return {
      words: comparisonWords(comparison, name === '' ? `a ${comparison.kind}` : name),
      side,
      why: side !== null ? null : fits ? sidelessWords.event : sidelessWords.other,
      range: rangeOf(comparison, range, side, window.end),
      ownRange: ownRangeOf(comparison, range, side, window.end),
      id: id === '' ? undefined : id,
    }
  }, [comparison, noun, events, found, id, range, minute])
}

/**
 * What to ask for the other side: whose data, by default the page's own, of which range, and the options of its queries:
 * asked where there is another side, and never what another one answered. Charts that are not over time ask for this
 * side by `ownRange`.
 */
export function askOther(comparison: TimeComparison | null, ownId: string, ownRange: TimeRange) {
  return {
    id: comparison?.id ?? ownId,
    range: comparison?.range ?? ownRange,
    ownRange: comparison?.ownRange ?? ownRange,
    options: { enabled: comparison !== null && comparison.side !== null, placeholderData: undefined },
  }
}

/** What a chart draws of the other side's answer, as `linesOf` reads it; the function must not change between renders. */
export function useGhost<T>(
  comparison: TimeComparison | null,
  query: UseQueryResult<T>,
  linesOf: (answer: T) => { axis: Pick<TimeAxis, 'times' | 'step_seconds'>; lines: Series[] },
): Ghost | null {
  const answer = query.data
  const problem = loadStateOf(query).problem?.title
  return useMemo(
    () =>
      drawOther(comparison, answer, problem, {
        drawn: (label, found, side) => moveGhost(label, linesOf(found), side),
        missing: (label, missing) => ({ label, missing, times: [], stepSeconds: null, lines: [] }),
      }),
    [comparison, answer, problem, linesOf],
  )
}

/** How a chart draws the other side's answer, and what it draws where there is none. */
interface Drawing<T, D> {
  drawn: (label: string, answer: T, side: OtherSide) => D
  missing: (label: string, why: string | null) => D
}

/** What a chart draws of the other side; null where nothing is compared, and while its answer is on its way. */
function drawOther<T, D>(
  comparison: TimeComparison | null,
  answer: T | undefined,
  problem: string | undefined,
  { drawn, missing }: Drawing<T, D>,
): D | null {
  if (comparison === null) return null
  const { words, side, why } = comparison
  if (side === null) return missing(words.other, why)
  if (answer !== undefined) return drawn(words.other, answer, side)
  return problem === undefined ? null : missing(words.other, `Not compared with “${words.other}”: ${problem}.`)
}

/**
 * What a chart that is not over time draws of the other side: `partOf` its answer, null where that holds nothing to draw.
 * The function must not change between renders.
 */
export function useBeside<T, P>(
  comparison: TimeComparison | null,
  query: UseQueryResult<T>,
  partOf: (answer: T) => P | null,
): Beside<P> | null {
  const answer = query.data
  const problem = loadStateOf(query).problem?.title
  return useMemo(
    () =>
      drawOther(comparison, answer, problem, {
        drawn: (label, found): Beside<P> => {
          const part = partOf(found)
          return { label, answer: part, missing: part === null ? missingWords(label) : null }
        },
        missing: (label, missing) => ({ label, missing, answer: null }),
      }),
    [comparison, answer, problem, partOf],
  )
}

/** What a ledger's chart draws of the other side. */
export function seriesOf<T extends { axis: TimeAxis; series: Series[] }>(answer: T) {
  return { axis: answer.axis, lines: answer.series }
}
