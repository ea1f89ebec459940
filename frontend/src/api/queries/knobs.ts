import { client } from '../client'
import { rangeQuery, refreshing, type TimeRange } from './base/range'
import { askedQuery, kept, rangedQuery } from './base/ask'

/** Which kernel settings of a host are worth a change, and why. */
export function knobAdviceQuery(hostId: string, range: TimeRange) {
  return rangedQuery(['knob-advice', hostId, range.from, range.to], range, (signal) =>
    client.GET('/v1/hosts/{host_id}/knob-advice', {
      params: { path: { host_id: hostId }, query: rangeQuery(range) },
      signal,
    }),
  )
}

/** Whether swap pays as a tier below DRAM for a service; it is asked once the loss target is known. */
export function swapTierQuery(serviceId: string, loss: number | undefined, range: TimeRange) {
  return askedQuery(
    ['swap-tier', serviceId, loss, range.from, range.to],
    (signal) =>
      client.GET('/v1/services/{service_id}/swap-tier', {
        params: {
          path: { service_id: serviceId },
          query: { ...rangeQuery(range), loss_target: loss },
        },
        signal,
      }),
    { enabled: loss !== undefined, ...kept, ...refreshing(range) },
  )
}
