import type { QueryClient } from '@tanstack/react-query'
import type { SlowdownPointRequest } from '../_generated/schema'
import { client, dataOf, doneBy } from '../client'
import { rangeQuery, type TimeRange } from './base/range'
import { askedQuery, rangedQuery } from './base/ask'

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
  return askedQuery(['slow-memory'], (signal) => client.GET('/v1/slow-memory', { signal }), { staleTime: Infinity })
}

/** The smallest DRAM share that keeps a loss target, with all that it rests on. */
export function ratioQuery(serviceId: string, choice: RatioChoice, range: TimeRange) {
  return rangedQuery(['ratio', serviceId, choice, range.from, range.to], range, (signal) =>
    client.GET('/v1/services/{service_id}/ratio', {
      params: {
        path: { service_id: serviceId },
        query: {
          loss_target: choice.loss,
          hold_hot: choice.holdHot,
          growth: choice.growth,
          ...(typeof choice.device === 'object'
            ? { slow_latency_ns: choice.device.latencyNs, slow_gb_per_s: choice.device.gbPerS }
            : { device: choice.device }),
          ...rangeQuery(range),
        },
      },
      signal,
    }),
  )
}

/** The owner's own measurements of the slowdown. */
export function slowdownPointsQuery(serviceId: string) {
  return askedQuery(
    ['slowdown-points', serviceId],
    (signal) =>
      client.GET('/v1/services/{service_id}/slowdown-points', {
        params: { path: { service_id: serviceId } },
        signal,
      }),
    { staleTime: 15_000 },
  )
}

/** Add a measurement; advice and points are asked for anew. Throws ApiProblem. */
export function addSlowdownPoint(queries: QueryClient, serviceId: string) {
  return {
    mutationFn: (point: SlowdownPointRequest) =>
      dataOf(
        client.POST('/v1/services/{service_id}/slowdown-points', {
          params: { path: { service_id: serviceId } },
          body: point,
        }),
      ),
    onSuccess: () => forget(queries, serviceId),
  }
}

/** Remove a measurement. Throws ApiProblem. */
export function removeSlowdownPoint(queries: QueryClient, serviceId: string) {
  return {
    mutationFn: (pointId: string) =>
      doneBy(client.DELETE('/v1/slowdown-points/{point_id}', { params: { path: { point_id: pointId } } })),
    onSuccess: () => forget(queries, serviceId),
  }
}

async function forget(queries: QueryClient, serviceId: string): Promise<void> {
  await Promise.all([
    queries.invalidateQueries({ queryKey: ['slowdown-points', serviceId] }),
    queries.invalidateQueries({ queryKey: ['ratio', serviceId] }),
  ])
}
