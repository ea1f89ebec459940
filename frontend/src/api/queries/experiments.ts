import { queryOptions, type QueryClient } from '@tanstack/react-query'
import type { ExperimentRequest } from '../_generated/schema'
import { client, dataOf } from '../client'
import { readAll } from './base/pages'
import { askedQuery, kept, polledQuery } from './base/ask'

/** All experiments, the newest first. */
export function experimentsQuery(refreshMs: number | null) {
  return queryOptions({
    queryKey: ['experiments'],
    queryFn: ({ signal }) =>
      readAll((cursor) =>
        dataOf(client.GET('/v1/experiments', { params: { query: { limit: 1000, cursor } }, signal })),
      ),
    ...kept,
    refetchInterval: refreshMs ?? false,
    staleTime: 15_000,
  })
}

/** One experiment with its live effect, or its frozen answer. */
export function experimentQuery(experimentId: string, refreshMs: number | null) {
  return polledQuery(['experiment', experimentId], refreshMs, (signal) =>
    client.GET('/v1/experiments/{experiment_id}', { params: { path: { experiment_id: experimentId } }, signal }),
  )
}

/** How many hosts an experiment needs, before it is started. */
export function experimentPlanQuery(serviceId: string, metric: string | undefined, effect: number) {
  return askedQuery(
    ['experiment-plan', serviceId, metric, effect],
    (signal) =>
      client.GET('/v1/experiments/plan', {
        params: { query: { service: serviceId, metric, effect_ratio: effect } },
        signal,
      }),
    { ...kept, enabled: serviceId !== '', staleTime: 60_000 },
  )
}

/** Start an experiment. Throws ApiProblem. */
export function startExperiment(queries: QueryClient) {
  return {
    mutationFn: (request: ExperimentRequest) => dataOf(client.POST('/v1/experiments', { body: request })),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['experiments'] }),
  }
}

/** End an experiment now; its answer is frozen. Throws ApiProblem. */
export function endExperiment(queries: QueryClient, experimentId: string) {
  return {
    mutationFn: () =>
      dataOf(client.POST('/v1/experiments/{experiment_id}/end', { params: { path: { experiment_id: experimentId } } })),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ['experiments'] })
      await queries.invalidateQueries({ queryKey: ['experiment', experimentId] })
    },
  }
}
