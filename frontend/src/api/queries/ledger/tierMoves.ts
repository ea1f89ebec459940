import type { TimeRange } from '../base/range'
import { rangedQuery } from '../base/ask'

/** The ledger of tier moves of a host. */
export function hostLedgerQuery(hostId: string, range: TimeRange) {
  return rangedQuery('/v1/hosts/{host_id}/ledger', { host_id: hostId }, range)
}

/** The ledger of tier moves of a service's own cgroups, summed over hosts. */
export function serviceLedgerQuery(serviceId: string, range: TimeRange) {
  return rangedQuery('/v1/services/{service_id}/ledger', { service_id: serviceId }, range)
}
