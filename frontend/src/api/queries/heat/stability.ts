import { keepPreviousData, queryOptions } from '@tanstack/react-query'
import { client, dataOf } from '../../client'
import { rangeQuery, refreshing, type TimeRange } from '../base/range'

/** How steady a service's mix of memory and its hot set are. */
export function stabilityQuery(serviceId: string, range: TimeRange) {
  return queryOptions({
    queryKey: ['stability', serviceId, range.from, range.to],
    queryFn: ({ signal }) =>
      dataOf(
        client.GET('/v1/services/{service_id}/stability', {
          params: { path: { service_id: serviceId }, query: rangeQuery(range) },
          signal,
        }),
      ),
    placeholderData: keepPreviousData,
    ...refreshing(range),
  })
}
