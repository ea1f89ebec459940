import { queryOptions } from '@tanstack/react-query'
import type { CapacitySubject, PlanRequest } from '../../_generated/schema'
import { client, dataOf } from '../../client'
import { askedQuery, kept, send } from '../base/ask'

const staleMs = 60_000

/** Capacity of all services, or of all groups of hosts. */
export function capacityQuery(groupBy: string) {
  return askedQuery('/v1/capacity', { group_by: groupBy }, { ...kept, staleTime: staleMs })
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
  const { kind, id, metric, horizonDays } = choice ?? { kind: 'service', id: '', metric: 'resident', horizonDays: 180 }
  const params = { kind, id, metric, horizon_days: horizonDays } as const
  return askedQuery('/v1/capacity/forecast', params, { enabled: choice !== undefined, ...kept, staleTime: staleMs })
}

/** The fleet packed on chosen hosts, quarter by quarter. */
export function planQuery(request: PlanRequest | null) {
  return queryOptions({
    queryKey: ['/v1/capacity/plan', request],
    queryFn: ({ signal }) => send('post', '/v1/capacity/plan', {}, request as PlanRequest, signal),
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
