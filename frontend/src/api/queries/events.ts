import { queryOptions } from '@tanstack/react-query'
import type { EventRequest } from '../_generated/schema'
import { toRfc3339 } from '../../lib/units/time'
import { resolveRange } from '../../lib/url/timeRange'
import { readAll } from './base/pages'
import { refreshing, type TimeRange } from './base/range'
import { ask, changing, kept, send } from './base/ask'

/** The events of a range, newest first: deploys, knob changes, notes, incidents. At most 2,000 are read. */
export function eventsQuery(range: TimeRange) {
  return queryOptions({
    queryKey: ['/v1/events', range.from, range.to],
    queryFn: ({ signal }) => {
      // This route takes moments only.
      const { start, end } = resolveRange(range.from, range.to, Date.now() / 1000)
      const query = { from: toRfc3339(start), to: toRfc3339(end), limit: 1000 }
      return readAll((cursor) => ask('/v1/events', { ...query, cursor }, signal), 2)
    },
    ...kept,
    ...refreshing(range),
  })
}

/** Put a note on a moment. Throws ApiProblem. */
export const addNote = changing(['/v1/events'], (note: Omit<EventRequest, 'kind'>) =>
  send('post', '/v1/events', {}, { ...note, kind: 'note' }),
)

/** Remove an event from all charts. Throws ApiProblem. */
export const deleteEvent = changing(['/v1/events'], (id: string) =>
  send('delete', '/v1/events/{event_id}', { event_id: id }),
)
