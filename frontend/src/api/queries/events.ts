import { keepPreviousData, queryOptions } from '@tanstack/react-query'
import { toRfc3339 } from '../../lib/units/time'
import { resolveRange } from '../../lib/url/timeRange'
import { client, dataOf } from '../client'
import { readAll } from './base/pages'
import { refreshing, type TimeRange } from './base/range'

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
    placeholderData: keepPreviousData,
    ...refreshing(range),
  })
}
