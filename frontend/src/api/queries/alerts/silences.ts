import { queryOptions, type QueryClient } from '@tanstack/react-query'
import type { SilenceRequest } from '../../_generated/schema'
import { client, dataOf } from '../../client'
import { readAll } from '../base/pages'
import { kept } from '../base/ask'

/** Silences, newest first; at most 1,000 are read. */
export function silencesQuery(refreshMs: number | null) {
  return queryOptions({
    queryKey: ['silences'],
    queryFn: ({ signal }) =>
      readAll(
        (cursor) => dataOf(client.GET('/v1/silences', { params: { query: { limit: 1000, cursor } }, signal })),
        1,
      ),
    ...kept,
    refetchInterval: refreshMs ?? false,
    staleTime: 10_000,
  })
}

function afterChange(queries: QueryClient) {
  return async () => {
    await queries.invalidateQueries({ queryKey: ['silences'] })
    await queries.invalidateQueries({ queryKey: ['alerts'] })
    await queries.invalidateQueries({ queryKey: ['alert'] })
  }
}

/** Hold back notifications of matching alerts for a time. Throws ApiProblem. */
export function createSilence(queries: QueryClient) {
  return {
    mutationFn: (request: SilenceRequest) => dataOf(client.POST('/v1/silences', { body: request })),
    onSuccess: afterChange(queries),
  }
}

/** End a silence now. Throws ApiProblem. */
export function expireSilence(queries: QueryClient) {
  return {
    mutationFn: (silenceId: string) =>
      dataOf(client.POST('/v1/silences/{silence_id}/expire', { params: { path: { silence_id: silenceId } } })),
    onSuccess: afterChange(queries),
  }
}
