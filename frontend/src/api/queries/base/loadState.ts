import type { UseQueryResult } from '@tanstack/react-query'
import type { LoadState } from '../../../lib/loadState'
import { ApiProblem, unreachable } from '../../problem'

/** A query's progress in the plain form that charts and panels take. */
export function loadStateOf(query: UseQueryResult<unknown>): LoadState {
  return {
    pending: query.isPending,
    refreshing: query.isFetching && !query.isPending,
    problem: query.error === null ? null : (query.error instanceof ApiProblem ? query.error : unreachable()).text,
    retry: () => void query.refetch(),
  }
}
