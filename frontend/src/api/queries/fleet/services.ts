import { keepPreviousData, queryOptions } from '@tanstack/react-query'
import { client, dataOf } from '../../client'
import { readAll } from '../base/pages'
import { rangeQuery, refreshing, type TimeRange } from '../base/range'

/** All services. */
export function servicesQuery(refreshMs: number | null) {
  return queryOptions({
    queryKey: ['services'],
    queryFn: ({ signal }) =>
      readAll((cursor) => dataOf(client.GET('/v1/services', { params: { query: { limit: 1000, cursor } }, signal }))),
    placeholderData: keepPreviousData,
    refetchInterval: refreshMs ?? false,
    staleTime: 15_000,
  })
}

/** One service in one sentence, and its evidence. */
export function serviceQuery(serviceId: string, range: TimeRange) {
  return queryOptions({
    queryKey: ['service', serviceId, range.from, range.to],
    queryFn: ({ signal }) =>
      dataOf(
        client.GET('/v1/services/{service_id}', {
          params: { path: { service_id: serviceId }, query: rangeQuery(range) },
          signal,
        }),
      ),
    placeholderData: keepPreviousData,
    ...refreshing(range),
  })
}
