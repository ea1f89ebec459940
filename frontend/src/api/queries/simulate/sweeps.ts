import { queryOptions, type QueryClient } from '@tanstack/react-query'
import type { Sweep, SweepRequest } from '../../_generated/schema'
import { ask, askedQuery, changing, kept, listQuery, send } from '../base/ask'

/** How often a sweep that is not finished is asked for. */
const progressMs = 1500

/** Whether more runs are to come without anybody's doing. */
export function isUnfinished(sweep: Pick<Sweep, 'status'>): boolean {
  return sweep.status === 'queued' || sweep.status === 'running'
}

/** All sweeps, the newest first; asked again while one of them runs. */
export function sweepsQuery() {
  return listQuery(
    '/v1/sweeps',
    { limit: 200 },
    {
      ...kept,
      refetchInterval: ({ state }) => (state.data?.items.some(isUnfinished) === true ? 2 * progressMs : false),
      staleTime: 5_000,
    },
  )
}

/** One sweep and its progress. */
export function sweepQuery(sweepId: string) {
  return askedQuery(
    '/v1/sweeps/{sweep_id}',
    { sweep_id: sweepId },
    {
      refetchInterval: ({ state }) => (state.data !== undefined && isUnfinished(state.data) ? progressMs : false),
      staleTime: 1_000,
    },
  )
}

/** What has been simulated so far; `done` runs are in it, so that it is asked again when more are. */
export function sweepResultsQuery(sweepId: string, done: number | undefined, status: Sweep['status'] | undefined) {
  return queryOptions({
    queryKey: ['/v1/sweeps/{sweep_id}/results', sweepId, done, status],
    queryFn: ({ signal }) => ask('/v1/sweeps/{sweep_id}/results', { sweep_id: sweepId }, signal),
    enabled: done !== undefined,
    ...kept,
    staleTime: Infinity,
  })
}

/** One run of a sweep with its values by interval; these never change. */
export function sweepRunQuery(sweepId: string, runId: string | undefined) {
  const params = { sweep_id: sweepId, run_id: runId ?? '' }
  return askedQuery('/v1/sweeps/{sweep_id}/runs/{run_id}', params, {
    enabled: runId !== undefined,
    staleTime: Infinity,
  })
}

/** The heat of a sweep's trace, at most as many cells as a screen shows. */
export function sweepHeatQuery(sweepId: string, enabled: boolean) {
  const params = { sweep_id: sweepId, rows: 48, columns: 240 }
  return askedQuery('/v1/sweeps/{sweep_id}/heat', params, { enabled, staleTime: Infinity })
}

/** Start a sweep. Throws ApiProblem. */
export const startSweep = changing(['/v1/sweeps'], (request: SweepRequest) => send('post', '/v1/sweeps', {}, request))

/** Cancel a sweep, or go on with one that was cancelled or failed. Throws ApiProblem. */
export const steerSweep = (queries: QueryClient, sweepId: string) =>
  changing([['/v1/sweeps/{sweep_id}', { sweep_id: sweepId }], '/v1/sweeps'], (what: 'cancel' | 'resume') =>
    send('post', `/v1/sweeps/{sweep_id}/${what}`, { sweep_id: sweepId }),
  )(queries)

/** Delete a sweep with its results. Throws ApiProblem. */
export const deleteSweep = changing(['/v1/sweeps'], (id: string) =>
  send('delete', '/v1/sweeps/{sweep_id}', { sweep_id: id }),
)
