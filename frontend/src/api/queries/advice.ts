import { queryOptions, type QueryClient } from '@tanstack/react-query'
import type { AdviceCard, DecisionRequest } from '../_generated/schema'
import { client, dataOf } from '../client'
import { readAll } from './base/pages'
import { kept } from './base/ask'

export type AdviceKind = AdviceCard['kind']
export type AdviceStatus = AdviceCard['status']

/** What of the advice is asked for. */
export interface AdviceFilter {
  kind: AdviceKind | undefined
  status: AdviceStatus
}

/** Stored advice, the most at stake first. */
export function adviceQuery(filter: AdviceFilter, refreshMs: number | null) {
  return queryOptions({
    queryKey: ['advice', filter],
    queryFn: ({ signal }) =>
      readAll((cursor) =>
        dataOf(client.GET('/v1/advice', { params: { query: { ...filter, limit: 1000, cursor } }, signal })),
      ),
    ...kept,
    refetchInterval: refreshMs ?? false,
    staleTime: 15_000,
  })
}

/** Adopt, dismiss or reopen advice. Throws ApiProblem. */
export function decideAdvice(queries: QueryClient, adviceId: string) {
  return {
    mutationFn: (decision: DecisionRequest) =>
      dataOf(
        client.POST('/v1/advice/{advice_id}/decision', {
          params: { path: { advice_id: adviceId } },
          body: decision,
        }),
      ),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['advice'] }),
  }
}
