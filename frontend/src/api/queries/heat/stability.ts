import type { TimeRange } from '../base/range'
import { rangedQuery } from '../base/ask'

/** How steady a service's mix of memory and its hot set are. */
export function stabilityQuery(serviceId: string, range: TimeRange) {
  return rangedQuery('/v1/services/{service_id}/stability', { service_id: serviceId }, range)
}
