import { queryOptions, type QueryClient } from '@tanstack/react-query'
import type { EventRequest } from '../_generated/schema'
import { toRfc3339 } from '../../lib/units/time'
import { resolveRange } from '../../lib/url/timeRange'
import { client, dataOf, doneBy } from '../client'
import { readAll } from './base/pages'
import { refreshing, type TimeRange } from './base/range'
import { kept } from './base/ask'

/** The events of a range, newest first: deploys, knob changes, notes, incidents. At most 2,000 are read. */
export function eventsQuery(range: TimeRange) {
  return queryOptions({
    queryKey: ['events', range.from, range.to],
    queryFn: ({ signal }) => {
      // This route takes moments only.
      const { start, end } = resolveRange(range.from, range.to, Date.now() / 1000)
      const query = { from: toRfc3339(start), to: toRfc3339(end), limit: 1000 }
      return readAll(
        (cursor) => dataOf(client.GET('/v1/events', { params: { query: { ...query, cursor } }, signal })),
        2,
      )
    },
    ...kept,
    ...refreshing(range),
  })
}

const changed = (queries: QueryClient) => () => queries.invalidateQueries({ queryKey: ['events'] })

/** Put a note on a moment. Throws ApiProblem. */
export function addNote(queries: QueryClient) {
  return {
    mutationFn: (note: Omit<EventRequest, 'kind'>) =>
      dataOf(client.POST('/v1/events', { body: { ...note, kind: 'note' } })),
    onSuccess: changed(queries),
  }
}

/** Remove an event from all charts. Throws ApiProblem. */
export function deleteEvent(queries: QueryClient) {
  return {
    mutationFn: (eventId: string) =>
      doneBy(client.DELETE('/v1/events/{event_id}', { params: { path: { event_id: eventId } } })),
    onSuccess: changed(queries),
  }
}
