import { client } from '../../client'
import { rangeQuery, type TimeRange } from '../base/range'
import { rangedQuery } from '../base/ask'

/** The ledger of tier moves of a host. */
export function hostLedgerQuery(hostId: string, range: TimeRange) {
  return rangedQuery(['host-ledger', hostId, range.from, range.to], range, (signal) =>
    client.GET('/v1/hosts/{host_id}/ledger', {
      params: { path: { host_id: hostId }, query: rangeQuery(range) },
      signal,
    }),
  )
}

/** The ledger of tier moves of a service's own cgroups, summed over hosts. */
export function serviceLedgerQuery(serviceId: string, range: TimeRange) {
  return rangedQuery(['service-ledger', serviceId, range.from, range.to], range, (signal) =>
    client.GET('/v1/services/{service_id}/ledger', {
      params: { path: { service_id: serviceId }, query: rangeQuery(range) },
      signal,
    }),
  )
}
