import type { QueryClient } from '@tanstack/react-query'
import type { ExperimentRequest } from '../_generated/schema'
import { askedQuery, changing, kept, listQuery, polled, send } from './base/ask'

/** All experiments, the newest first. */
export function experimentsQuery(refreshMs: number | null) {
  return listQuery('/v1/experiments', {}, { ...kept, ...polled(refreshMs) })
}

/** One experiment with its live effect, or its frozen answer. */
export function experimentQuery(experimentId: string, refreshMs: number | null) {
  return askedQuery('/v1/experiments/{experiment_id}', { experiment_id: experimentId }, polled(refreshMs))
}

/** How many hosts an experiment needs, before it is started. */
export function experimentPlanQuery(serviceId: string, metric: string | undefined, effect: number) {
  const params = { service: serviceId, metric, effect_ratio: effect }
  return askedQuery('/v1/experiments/plan', params, { ...kept, enabled: serviceId !== '', staleTime: 60_000 })
}

/** Start an experiment. Throws ApiProblem. */
export const startExperiment = changing(['/v1/experiments'], (request: ExperimentRequest) =>
  send('post', '/v1/experiments', {}, request),
)

/** End an experiment now; its answer is frozen. Throws ApiProblem. */
export const endExperiment = (queries: QueryClient, experimentId: string) =>
  changing(['/v1/experiments', ['/v1/experiments/{experiment_id}', { experiment_id: experimentId }]], () =>
    send('post', '/v1/experiments/{experiment_id}/end', { experiment_id: experimentId }),
  )(queries)
