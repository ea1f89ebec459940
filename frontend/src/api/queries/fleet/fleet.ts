import { keepPreviousData, queryOptions } from '@tanstack/react-query'
import { client, dataOf } from '../../client'
import { rangeQuery, refreshing, type TimeRange } from '../base/range'

/** The whole installation over a time range. */
export function fleetQuery(range: TimeRange) {
  return queryOptions({
    queryKey: ['fleet', range.from, range.to],
    queryFn: ({ signal }) => dataOf(client.GET('/v1/fleet', { params: { query: rangeQuery(range) }, signal })),
    placeholderData: keepPreviousData,
    ...refreshing(range),
  })
}
