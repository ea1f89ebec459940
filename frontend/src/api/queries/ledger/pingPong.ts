import { keepPreviousData, queryOptions } from '@tanstack/react-query'
import { client, dataOf } from '../../client'
import { rangeQuery, refreshing, type TimeRange } from '../base/range'

/** Ping-pong of a service over time: states, cost, verdict. */
export function servicePingPongQuery(serviceId: string, range: TimeRange) {
  return queryOptions({
    queryKey: ['service-ping-pong', serviceId, range.from, range.to],
    queryFn: ({ signal }) =>
      dataOf(
        client.GET('/v1/services/{service_id}/ping-pong', {
          params: { path: { service_id: serviceId }, query: rangeQuery(range) },
          signal,
        }),
      ),
    placeholderData: keepPreviousData,
    ...refreshing(range),
  })
}

/** Ping-pong of a host over time: states, cost, verdict. */
export function hostPingPongQuery(hostId: string, range: TimeRange) {
  return queryOptions({
    queryKey: ['host-ping-pong', hostId, range.from, range.to],
    queryFn: ({ signal }) =>
      dataOf(
        client.GET('/v1/hosts/{host_id}/ping-pong', {
          params: { path: { host_id: hostId }, query: rangeQuery(range) },
          signal,
        }),
      ),
    placeholderData: keepPreviousData,
    ...refreshing(range),
  })
}
