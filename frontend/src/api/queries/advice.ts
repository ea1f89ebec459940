import type { QueryClient } from '@tanstack/react-query'
import type { AdviceCard, DecisionRequest } from '../_generated/schema'
import { changing, kept, listQuery, polled, send } from './base/ask'

export type AdviceKind = AdviceCard['kind']
export type AdviceStatus = AdviceCard['status']

/** What of the advice is asked for. */
export interface AdviceFilter {
  kind: AdviceKind | undefined
  status: AdviceStatus
}

/** Stored advice, the most at stake first. */
export function adviceQuery(filter: AdviceFilter, refreshMs: number | null) {
  return listQuery('/v1/advice', { ...filter }, { ...kept, ...polled(refreshMs) })
}

/** Adopt, dismiss or reopen advice. Throws ApiProblem. */
export const decideAdvice = (queries: QueryClient, adviceId: string) =>
  changing(
    ['/v1/advice', '/v1/advice/plan', '/v1/advice/plan/bundle', '/v1/advice/plan/canaries', '/v1/advice/drift'],
    (decision: DecisionRequest) => send('post', '/v1/advice/{advice_id}/decision', { advice_id: adviceId }, decision),
  )(queries)
