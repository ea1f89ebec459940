import { keepPreviousData, queryOptions } from '@tanstack/react-query'
import { client, dataOf } from '../client'
import { rangeQuery, refreshing, type TimeRange } from './base/range'

/** Accesses that DRAM would serve at each share of a service's memory. */
export function curveQuery(serviceId: string, kind: 'anon' | 'file' | 'tmpfs' | undefined, range: TimeRange) {
  return queryOptions({
    queryKey: ['curve', serviceId, kind, range.from, range.to],
    queryFn: ({ signal }) =>
      dataOf(
        client.GET('/v1/services/{service_id}/curve', {
          params: { path: { service_id: serviceId }, query: { kind, ...rangeQuery(range) } },
          signal,
        }),
      ),
    placeholderData: keepPreviousData,
    ...refreshing(range),
  })
}
