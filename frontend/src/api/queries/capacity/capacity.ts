import { queryOptions } from '@tanstack/react-query'
import type { Capacity, CapacityForecast, CapacityPlan, CapacitySubject, PlanRequest } from '../../_generated/schema'
import { client, dataOf } from '../../client'
import { kept } from '../base/ask'

const staleMs = 60_000

/** An answer that could be a file too, which is why the contract does not type it: asked for as JSON it is a `T`. */
async function jsonOf<T>(answer: Promise<unknown>): Promise<T> {
  return (await answer) as T
}

/** Capacity of all services, or of all groups of hosts. */
export function capacityQuery(groupBy: string) {
  return queryOptions({
    queryKey: ['capacity', groupBy],
    queryFn: ({ signal }) =>
      jsonOf<Capacity>(dataOf(client.GET('/v1/capacity', { params: { query: { group_by: groupBy } }, signal }))),
    ...kept,
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
      jsonOf<CapacityForecast>(
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
      ),
    enabled: choice !== undefined,
    ...kept,
    staleTime: staleMs,
  })
}

/** The fleet packed on chosen hosts, quarter by quarter. */
export function planQuery(request: PlanRequest | null) {
  return queryOptions({
    queryKey: ['capacity-plan', request],
    queryFn: ({ signal }) =>
      jsonOf<CapacityPlan>(dataOf(client.POST('/v1/capacity/plan', { body: request as PlanRequest, signal }))),
    enabled: request !== null,
    ...kept,
    staleTime: staleMs,
  })
}

/** A plan as a file. Throws ApiProblem. */
export function planFile(request: PlanRequest, format: 'csv' | 'parquet'): Promise<Blob> {
  return dataOf<Blob>(
    client.POST('/v1/capacity/plan', { params: { query: { format } }, body: request, parseAs: 'blob' }),
  )
}
