import type { TimeRange } from '../base/range'
import { rangedQuery } from '../base/ask'

/** Ping-pong of a service over time: states, cost, verdict. */
export function servicePingPongQuery(serviceId: string, range: TimeRange) {
  return rangedQuery('/v1/services/{service_id}/ping-pong', { service_id: serviceId }, range)
}

/** Ping-pong of a host over time: states, cost, verdict. */
export function hostPingPongQuery(hostId: string, range: TimeRange) {
  return rangedQuery('/v1/hosts/{host_id}/ping-pong', { host_id: hostId }, range)
}
