import { client } from '../client'
import { rangeQuery, type TimeRange } from './base/range'
import { rangedQuery } from './base/ask'

/** Accesses that DRAM would serve at each share of a service's memory. */
export function curveQuery(serviceId: string, kind: 'anon' | 'file' | 'tmpfs' | undefined, range: TimeRange) {
  return rangedQuery(['curve', serviceId, kind, range.from, range.to], range, (signal) =>
    client.GET('/v1/services/{service_id}/curve', {
      params: { path: { service_id: serviceId }, query: { kind, ...rangeQuery(range) } },
      signal,
    }),
  )
}
