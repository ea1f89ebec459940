import { keepPreviousData, queryOptions } from '@tanstack/react-query'
import { client, dataOf } from '../../client'
import { rangeQuery, refreshing, type TimeRange } from '../base/range'

/** Which clock, and from when memory counts as cold. */
export interface RevisitChoice {
  clock: 'last_access' | 'turned_cold'
  idleIntervals?: number | undefined
  host?: string | undefined
}

/** How soon idle memory of a service is accessed again. */
export function revisitQuery(serviceId: string, choice: RevisitChoice, range: TimeRange) {
  return queryOptions({
    queryKey: ['revisit', serviceId, choice, range.from, range.to],
    queryFn: ({ signal }) =>
      dataOf(
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
      ),
    placeholderData: keepPreviousData,
    ...refreshing(range),
  })
}

/** Service levels of cold memory: promotions per working set, accesses and bytes on slow memory. */
export function objectivesQuery(serviceId: string, range: TimeRange) {
  return queryOptions({
    queryKey: ['objectives', serviceId, range.from, range.to],
    queryFn: ({ signal }) =>
      dataOf(
        client.GET('/v1/services/{service_id}/revisit/objectives', {
          params: { path: { service_id: serviceId }, query: rangeQuery(range) },
          signal,
        }),
      ),
    placeholderData: keepPreviousData,
    ...refreshing(range),
  })
}
