import { keepPreviousData, queryOptions } from '@tanstack/react-query'
import type { CapacitySubject } from '../_generated/schema'
import { client, dataOf } from '../client'

const staleMs = 60_000

/** Capacity of all services, or of all groups of hosts. */
export function capacityQuery(groupBy: string) {
  return queryOptions({
    queryKey: ['capacity', groupBy],
    queryFn: ({ signal }) => dataOf(client.GET('/v1/capacity', { params: { query: { group_by: groupBy } }, signal })),
    placeholderData: keepPreviousData,
    staleTime: staleMs,
  })
}

/** Whom a forecast is of, and of what. */
export interface ForecastChoice {
  kind: CapacitySubject['kind']
  id: string
  metric: 'resident' | 'hot' | 'dram_need'
  horizonDays: number
}

/** The forecast of one subject; disabled while none is chosen. */
export function forecastQuery(choice: ForecastChoice | undefined) {
  return queryOptions({
    queryKey: ['capacity-forecast', choice],
    queryFn: ({ signal }) =>
      dataOf(
        client.GET('/v1/capacity/forecast', {
          params: {
            query: {
              kind: choice?.kind ?? 'service',
              id: choice?.id ?? '',
              metric: choice?.metric ?? 'resident',
              horizon_days: choice?.horizonDays ?? 180,
            },
          },
          signal,
        }),
      ),
    enabled: choice !== undefined,
    placeholderData: keepPreviousData,
    staleTime: staleMs,
  })
}
