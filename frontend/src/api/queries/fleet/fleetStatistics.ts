import { keepPreviousData, queryOptions } from '@tanstack/react-query'
import { client, dataOf } from '../../client'
import { rangeQuery, refreshing, type TimeRange } from '../base/range'

/** Groups of peer hosts, hosts that differ from theirs, and changes of level. */
export function fleetStatisticsQuery(range: TimeRange) {
  return queryOptions({
    queryKey: ['fleet-statistics', range.from, range.to],
    queryFn: ({ signal }) =>
      dataOf(client.GET('/v1/fleet/statistics', { params: { query: rangeQuery(range) }, signal })),
    placeholderData: keepPreviousData,
    ...refreshing(range),
  })
}
