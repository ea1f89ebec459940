import { keepPreviousData, queryOptions } from '@tanstack/react-query'
import { client, dataOf } from '../../client'
import { rangeQuery, refreshing, type TimeRange } from '../base/range'

/** Throughput, load and latency of a service over its hosts. */
export function serviceMetricsQuery(serviceId: string, range: TimeRange) {
  return queryOptions({
    queryKey: ['service-metrics', serviceId, range.from, range.to],
    queryFn: ({ signal }) =>
      dataOf(
        client.GET('/v1/services/{service_id}/metrics', {
          params: { path: { service_id: serviceId }, query: rangeQuery(range) },
          signal,
        }),
      ),
    placeholderData: keepPreviousData,
    ...refreshing(range),
  })
}
