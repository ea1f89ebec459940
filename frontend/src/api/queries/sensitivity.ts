import type { TimeRange } from './base/range'
import { rangedQuery } from './base/ask'

/** How throughput follows the anon and file memory that DRAM serves. */
export function sensitivityQuery(serviceId: string, range: TimeRange) {
  return rangedQuery('/v1/services/{service_id}/sensitivity', { service_id: serviceId }, range)
}
