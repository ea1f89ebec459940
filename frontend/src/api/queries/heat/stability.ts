import { client } from '../../client'
import { rangeQuery, type TimeRange } from '../base/range'
import { rangedQuery } from '../base/ask'

/** How steady a service's mix of memory and its hot set are. */
export function stabilityQuery(serviceId: string, range: TimeRange) {
  return rangedQuery(['stability', serviceId, range.from, range.to], range, (signal) =>
    client.GET('/v1/services/{service_id}/stability', {
      params: { path: { service_id: serviceId }, query: rangeQuery(range) },
      signal,
    }),
  )
}
