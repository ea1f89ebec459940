import type { TimeRange } from '../base/range'
import { rangedQuery } from '../base/ask'

/** Throughput, load and latency of a service over its hosts. */
export function serviceMetricsQuery(serviceId: string, range: TimeRange) {
  return rangedQuery('/v1/services/{service_id}/metrics', { service_id: serviceId }, range)
}
