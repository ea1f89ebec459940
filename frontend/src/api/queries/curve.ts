import type { TimeRange } from './base/range'
import { rangedQuery } from './base/ask'

/** Accesses that DRAM would serve at each share of a service's memory. */
export function curveQuery(serviceId: string, kind: 'anon' | 'file' | 'tmpfs' | undefined, range: TimeRange) {
  return rangedQuery('/v1/services/{service_id}/curve', { service_id: serviceId, kind }, range)
}
