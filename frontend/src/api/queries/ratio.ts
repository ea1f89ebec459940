import type { QueryClient } from '@tanstack/react-query'
import type { SlowdownPointRequest } from '../_generated/schema'
import type { TimeRange } from './base/range'
import { askedQuery, changing, rangedQuery, send } from './base/ask'

/** What the owner of a service asks of the advice. */
export interface RatioChoice {
  /** Largest loss of throughput wanted, as a ratio; undefined takes the API's own. */
  loss: number | undefined
  /** DRAM must hold the hot memory. */
  holdHot: boolean
  growth: number
  /** Slow memory to judge in place of the hosts': the name of a known kind, or a latency with maybe a bandwidth. */
  device: string | OwnMemory | undefined
}

/** Slow memory that someone has measured or is offered. */
export interface OwnMemory {
  latencyNs: number
  gbPerS: number | undefined
}

/** Kinds of slow memory that are known, with what they are like. */
export function slowMemoryQuery() {
  return askedQuery('/v1/slow-memory', {}, { staleTime: Infinity })
}

/** The smallest DRAM share that keeps a loss target, with all that it rests on. */
export function ratioQuery(serviceId: string, { loss, holdHot, growth, device }: RatioChoice, range: TimeRange) {
  const memory =
    typeof device === 'object' ? { slow_latency_ns: device.latencyNs, slow_gb_per_s: device.gbPerS } : { device }
  const params = { service_id: serviceId, loss_target: loss, hold_hot: holdHot, growth, ...memory }
  return rangedQuery('/v1/services/{service_id}/ratio', params, range)
}

/** The owner's own measurements of the slowdown. */
export function slowdownPointsQuery(serviceId: string) {
  return askedQuery('/v1/services/{service_id}/slowdown-points', { service_id: serviceId }, { staleTime: 15_000 })
}

const staleOf = (serviceId: string): Parameters<typeof changing>[0] => [
  ['/v1/services/{service_id}/slowdown-points', { service_id: serviceId }],
  ['/v1/services/{service_id}/ratio', { service_id: serviceId }],
]

/** Add a measurement; advice and points are asked for anew. Throws ApiProblem. */
export const addSlowdownPoint = (queries: QueryClient, serviceId: string) =>
  changing(staleOf(serviceId), (point: SlowdownPointRequest) =>
    send('post', '/v1/services/{service_id}/slowdown-points', { service_id: serviceId }, point),
  )(queries)

/** Remove a measurement. Throws ApiProblem. */
export const removeSlowdownPoint = (queries: QueryClient, serviceId: string) =>
  changing(staleOf(serviceId), (id: string) => send('delete', '/v1/slowdown-points/{point_id}', { point_id: id }))(
    queries,
  )
