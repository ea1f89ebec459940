import type { Window } from '../../../api/_generated/schema'
import type { TimeRange } from '../../../api/queries/base/range'
import type { Zoom } from '../../../charts/incident/figure'

/** The part of an incident that the page's time range picks out; null where the range is not inside of it. */
export function zoomWithin(range: TimeRange, window: Window | undefined): Zoom | null {
  if (window === undefined || range.to === undefined) return null
  const [start, end] = [Date.parse(range.from) / 1000, Date.parse(range.to) / 1000]
  const inside = start >= Date.parse(window.start) / 1000 && end <= Date.parse(window.end) / 1000
  return inside && end > start ? { start, end } : null
}
