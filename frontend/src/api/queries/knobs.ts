import { rangeQuery, refreshing, type TimeRange } from './base/range'
import { askedQuery, kept, rangedQuery } from './base/ask'

/** Which kernel settings of a host are worth a change, and why. */
export function knobAdviceQuery(hostId: string, range: TimeRange) {
  return rangedQuery('/v1/hosts/{host_id}/knob-advice', { host_id: hostId }, range)
}

/** Whether swap pays as a tier below DRAM for a service; it is asked once the loss target is known. */
export function swapTierQuery(serviceId: string, loss: number | undefined, range: TimeRange) {
  const params = { service_id: serviceId, loss_target: loss, ...rangeQuery(range) }
  const options = { enabled: loss !== undefined, ...kept, ...refreshing(range) }
  return askedQuery('/v1/services/{service_id}/swap-tier', params, options)
}
