import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import type { EventItem } from '../../../api/_generated/schema'
import { loadStateOf } from '../../../api/queries/base/loadState'
import { tilesQuery } from '../../../api/queries/heat/tiles'
import { comparisonWords, otherSide, readComparison } from '../../../lib/comparison'
import { subtractGrids, whyIncomparable } from '../../../lib/heat/difference'
import type { HeatGrid } from '../../../lib/heat/heatGrid'
import { toRfc3339 } from '../../../lib/units/time'
import { eventName } from '../../shell/time/useTimeComparison'

interface Compared {
  serviceId: string
  /** The comparison as the URL has it. */
  compare: string | undefined
  events: EventItem[]
  grid: HeatGrid | undefined
  /** The time range of the page, and that of the grid within it, Unix seconds. */
  window: { start: number; end: number }
  start: number
  end: number
  maxRows: number
  maxColumns: number
  nameOf: (hostId: string) => string
}

/** Ends of windows are whole minutes, so that a window that moves with the clock asks once a minute. */
const wholeMinute = (seconds: number): number => Math.floor(seconds / 60) * 60

const sidelessWords = {
  earlier: '',
  host: '',
  service: 'Addresses of one service have no counterpart in another.',
  event: 'The event is not within what is in view.',
} as const

/** The other side of a comparison, and what the heatmap changed against it; null where nothing is compared. */
export function useComparison(asked: Compared) {
  const { serviceId, compare, events, grid, window, start, end, maxRows, maxColumns, nameOf } = asked
  const comparison = useMemo(() => readComparison(compare), [compare])
  const event = comparison?.kind === 'event' ? events.find(({ id }) => id === comparison.id) : undefined
  const range = { start: window.start, end: wholeMinute(window.end) }
  const at = event === undefined ? undefined : Date.parse(event.at) / 1000
  const side = comparison === null || comparison.kind === 'service' ? null : otherSide(comparison, range, at)
  const from = Math.max(start, side?.fromSeconds ?? start)
  const hasSide = side !== null && from < end
  const shift = side?.shiftSeconds ?? 0
  const hostId = comparison?.kind === 'host' ? comparison.id : grid?.hostId
  const choice = { host: hostId, group: grid?.group, maxRows, maxColumns, against: compare }
  const [first, last] = [wholeMinute(from - shift), wholeMinute(end - shift)].map(toRfc3339)
  const query = useQuery({
    ...tilesQuery(serviceId, choice, { from: first ?? '', to: last, refreshMs: null }),
    enabled: hasSide && grid !== undefined && grid.rows.length > 0,
  })
  const then = query.data
  const name =
    comparison?.kind === 'host' ? nameOf(comparison.id) : event === undefined ? 'another one' : eventName(event)
  const words = useMemo(() => (comparison === null ? null : comparisonWords(comparison, name)), [comparison, name])
  const [difference, why] = useMemo(() => {
    if (comparison === null || grid === undefined) return [undefined, null]
    if (!hasSide) return [undefined, sidelessWords[comparison.kind]]
    if (then === undefined) return [undefined, null]
    const reason = whyIncomparable(grid, then)
    return reason === null ? [subtractGrids(grid, then, shift), null] : [undefined, reason]
  }, [comparison, grid, hasSide, then, shift])
  if (words === null) return null
  return { words, difference, why, load: loadStateOf(query) }
}
