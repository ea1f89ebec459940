import { queryOptions } from '@tanstack/react-query'
import { client, dataOf } from '../../client'
import { readAll } from '../base/pages'
import { rangeQuery, type TimeRange } from '../base/range'
import { askedQuery, kept, rangedQuery } from '../base/ask'

/** All services. */
export function servicesQuery(refreshMs: number | null) {
  return queryOptions({
    queryKey: ['services'],
    queryFn: ({ signal }) =>
      readAll((cursor) => dataOf(client.GET('/v1/services', { params: { query: { limit: 1000, cursor } }, signal }))),
    ...kept,
    refetchInterval: refreshMs ?? false,
    staleTime: 15_000,
  })
}

/** One service in one sentence, and its evidence. */
export function serviceQuery(serviceId: string, range: TimeRange) {
  return rangedQuery(['service', serviceId, range.from, range.to], range, (signal) =>
    client.GET('/v1/services/{service_id}', {
      params: { path: { service_id: serviceId }, query: rangeQuery(range) },
      signal,
    }),
  )
}

/** RDMA and SMC-R of a service's hosts beside those of another service, or of itself at another time. */
export function networkQuery(serviceId: string, range: TimeRange, otherId: string, other: TimeRange) {
  return askedQuery(
    ['service-network', serviceId, range.from, range.to, otherId, other.from, other.to],
    (signal) =>
      client.GET('/v1/services/{service_id}/network', {
        params: {
          path: { service_id: serviceId },
          query: { ...rangeQuery(range), other: otherId, other_from: other.from, other_to: other.to },
        },
        signal,
      }),
    { staleTime: 60_000 },
  )
}
