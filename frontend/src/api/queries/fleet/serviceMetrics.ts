import { client } from '../../client'
import { rangeQuery, type TimeRange } from '../base/range'
import { rangedQuery } from '../base/ask'

/** Throughput, load and latency of a service over its hosts. */
export function serviceMetricsQuery(serviceId: string, range: TimeRange) {
  return rangedQuery(['service-metrics', serviceId, range.from, range.to], range, (signal) =>
    client.GET('/v1/services/{service_id}/metrics', {
      params: { path: { service_id: serviceId }, query: rangeQuery(range) },
      signal,
    }),
  )
}
