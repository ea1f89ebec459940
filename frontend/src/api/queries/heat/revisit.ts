import { client } from '../../client'
import { rangeQuery, type TimeRange } from '../base/range'
import { rangedQuery } from '../base/ask'

/** Which clock, and from when memory counts as cold. */
export interface RevisitChoice {
  clock: 'last_access' | 'turned_cold'
  idleIntervals?: number | undefined
  host?: string | undefined
}

/** How soon idle memory of a service is accessed again. */
export function revisitQuery(serviceId: string, choice: RevisitChoice, range: TimeRange) {
  return rangedQuery(['revisit', serviceId, choice, range.from, range.to], range, (signal) =>
    client.GET('/v1/services/{service_id}/revisit', {
      params: {
        path: { service_id: serviceId },
        query: {
          clock: choice.clock,
          idle_intervals: choice.idleIntervals,
          host: choice.host,
          ...rangeQuery(range),
        },
      },
      signal,
    }),
  )
}

/** Service levels of cold memory: promotions per working set, accesses and bytes on slow memory. */
export function objectivesQuery(serviceId: string, range: TimeRange) {
  return rangedQuery(['objectives', serviceId, range.from, range.to], range, (signal) =>
    client.GET('/v1/services/{service_id}/revisit/objectives', {
      params: { path: { service_id: serviceId }, query: rangeQuery(range) },
      signal,
    }),
  )
}
