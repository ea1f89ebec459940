import { client } from '../../client'
import { rangeQuery, type TimeRange } from '../base/range'
import { rangedQuery } from '../base/ask'

/** Ping-pong of a service over time: states, cost, verdict. */
export function servicePingPongQuery(serviceId: string, range: TimeRange) {
  return rangedQuery(['service-ping-pong', serviceId, range.from, range.to], range, (signal) =>
    client.GET('/v1/services/{service_id}/ping-pong', {
      params: { path: { service_id: serviceId }, query: rangeQuery(range) },
      signal,
    }),
  )
}

/** Ping-pong of a host over time: states, cost, verdict. */
export function hostPingPongQuery(hostId: string, range: TimeRange) {
  return rangedQuery(['host-ping-pong', hostId, range.from, range.to], range, (signal) =>
    client.GET('/v1/hosts/{host_id}/ping-pong', {
      params: { path: { host_id: hostId }, query: rangeQuery(range) },
      signal,
    }),
  )
}
