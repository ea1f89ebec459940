import { client } from '../client'
import { rangeQuery, type TimeRange } from './base/range'
import { rangedQuery } from './base/ask'

/** How throughput follows the anon and file memory that DRAM serves. */
export function sensitivityQuery(serviceId: string, range: TimeRange) {
  return rangedQuery(['sensitivity', serviceId, range.from, range.to], range, (signal) =>
    client.GET('/v1/services/{service_id}/sensitivity', {
      params: { path: { service_id: serviceId }, query: rangeQuery(range) },
      signal,
    }),
  )
}
