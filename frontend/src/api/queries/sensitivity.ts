import { keepPreviousData, queryOptions } from '@tanstack/react-query'
import { client, dataOf } from '../client'
import { rangeQuery, refreshing, type TimeRange } from './base/range'

/** How throughput follows the anon and file memory that DRAM serves. */
export function sensitivityQuery(serviceId: string, range: TimeRange) {
  return queryOptions({
    queryKey: ['sensitivity', serviceId, range.from, range.to],
    queryFn: ({ signal }) =>
      dataOf(
        client.GET('/v1/services/{service_id}/sensitivity', {
          params: { path: { service_id: serviceId }, query: rangeQuery(range) },
          signal,
        }),
      ),
    placeholderData: keepPreviousData,
    ...refreshing(range),
  })
}
