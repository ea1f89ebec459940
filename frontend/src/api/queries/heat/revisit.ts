import type { TimeRange } from '../base/range'
import { rangedQuery } from '../base/ask'

/** Which clock, and from when memory counts as cold. */
export interface RevisitChoice {
  clock: 'last_access' | 'turned_cold'
  idleIntervals?: number | undefined
  host?: string | undefined
}

/** How soon idle memory of a service is accessed again. */
export function revisitQuery(serviceId: string, { clock, idleIntervals, host }: RevisitChoice, range: TimeRange) {
  const params = { service_id: serviceId, clock, idle_intervals: idleIntervals, host }
  return rangedQuery('/v1/services/{service_id}/revisit', params, range)
}

/** Service levels of cold memory: promotions per working set, accesses and bytes on slow memory. */
export function objectivesQuery(serviceId: string, range: TimeRange) {
  return rangedQuery('/v1/services/{service_id}/revisit/objectives', { service_id: serviceId }, range)
}
