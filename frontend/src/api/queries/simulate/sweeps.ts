import { queryOptions, type QueryClient } from '@tanstack/react-query'
import type { Sweep, SweepRequest, SweepResults } from '../../_generated/schema'
import { client, dataOf, doneBy } from '../../client'
import { readAll } from '../base/pages'
import { askedQuery, kept } from '../base/ask'

/** How often a sweep that is not finished is asked for. */
const progressMs = 1500

/** Whether more runs are to come without anybody's doing. */
export function isUnfinished(sweep: Pick<Sweep, 'status'>): boolean {
  return sweep.status === 'queued' || sweep.status === 'running'
}

/** All sweeps, the newest first; asked again while one of them runs. */
export function sweepsQuery() {
  return queryOptions({
    queryKey: ['sweeps'],
    queryFn: ({ signal }) =>
      readAll((cursor) => dataOf(client.GET('/v1/sweeps', { params: { query: { limit: 200, cursor } }, signal }))),
    ...kept,
    refetchInterval: ({ state }) => (state.data?.items.some(isUnfinished) === true ? 2 * progressMs : false),
    staleTime: 5_000,
  })
}

/** One sweep and its progress. */
export function sweepQuery(sweepId: string) {
  return askedQuery(
    ['sweep', sweepId],
    (signal) => client.GET('/v1/sweeps/{sweep_id}', { params: { path: { sweep_id: sweepId } }, signal }),
    {
      refetchInterval: ({ state }) => (state.data !== undefined && isUnfinished(state.data) ? progressMs : false),
      staleTime: 1_000,
    },
  )
}

/** What has been simulated so far; `done` runs are in it, so that it is asked again when more are. */
export function sweepResultsQuery(sweepId: string, done: number | undefined, status: Sweep['status'] | undefined) {
  return queryOptions({
    queryKey: ['sweep-results', sweepId, done, status],
    queryFn: async ({ signal }) => {
      const params = { path: { sweep_id: sweepId } }
      // The client's types lose that spans are pairs.
      return (await dataOf(client.GET('/v1/sweeps/{sweep_id}/results', { params, signal }))) as SweepResults
    },
    enabled: done !== undefined,
    ...kept,
    staleTime: Infinity,
  })
}

/** One run of a sweep with its values by interval; these never change. */
export function sweepRunQuery(sweepId: string, runId: string | undefined) {
  return askedQuery(
    ['sweep-run', sweepId, runId],
    (signal) =>
      client.GET('/v1/sweeps/{sweep_id}/runs/{run_id}', {
        params: { path: { sweep_id: sweepId, run_id: runId ?? '' } },
        signal,
      }),
    { enabled: runId !== undefined, staleTime: Infinity },
  )
}

/** The heat of a sweep's trace, at most as many cells as a screen shows. */
export function sweepHeatQuery(sweepId: string, enabled: boolean) {
  return askedQuery(
    ['sweep-heat', sweepId],
    (signal) =>
      client.GET('/v1/sweeps/{sweep_id}/heat', {
        params: { path: { sweep_id: sweepId }, query: { rows: 48, columns: 240 } },
        signal,
      }),
    { enabled, staleTime: Infinity },
  )
}

/** Start a sweep. Throws ApiProblem. */
export function startSweep(queries: QueryClient) {
  return {
    mutationFn: (request: SweepRequest) => dataOf(client.POST('/v1/sweeps', { body: request })),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['sweeps'] }),
  }
}

/** Cancel a sweep, or go on with one that was cancelled or failed. Throws ApiProblem. */
export function steerSweep(queries: QueryClient, sweepId: string) {
  const params = { path: { sweep_id: sweepId } }
  return {
    mutationFn: (what: 'cancel' | 'resume') =>
      dataOf(
        what === 'cancel'
          ? client.POST('/v1/sweeps/{sweep_id}/cancel', { params })
          : client.POST('/v1/sweeps/{sweep_id}/resume', { params }),
      ),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ['sweep', sweepId] })
      await queries.invalidateQueries({ queryKey: ['sweeps'] })
    },
  }
}

/** Delete a sweep with its results. Throws ApiProblem. */
export function deleteSweep(queries: QueryClient) {
  return {
    mutationFn: (sweepId: string) =>
      doneBy(client.DELETE('/v1/sweeps/{sweep_id}', { params: { path: { sweep_id: sweepId } } })),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['sweeps'] }),
  }
}
