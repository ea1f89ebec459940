import { QueryClient, type Query } from '@tanstack/react-query'
import { narrowedHash } from './narrowing'
import { ApiProblem } from './problem'

/** Statuses after which asking again at once may help: no answer, or a busy service. A refusal stays one. */
const passing = [0, 429, 502, 503, 504]

/** A service that says when to come again is asked so much oftener: it answers somebody else meanwhile. */
const patience = 10
const longestPauseMs = 30_000

function pauseMs(failures: number, error: Error): number {
  const told = error instanceof ApiProblem ? error.retryAfterSeconds : null
  // Not all at the same instant: others were told the same.
  return told === null ? Math.min(1000 * 2 ** failures, longestPauseMs) : (told + Math.random()) * 1000
}

/** Whether a question waits because the service told it when to come again. */
export function isToldToWait({ state }: Query): boolean {
  const reason = state.fetchFailureReason
  return reason instanceof ApiProblem && reason.text.status === 429 && reason.retryAfterSeconds !== null
}

/** The store of all answers. Specs leave out the retries. */
export function createQueryClient(retries = 2): QueryClient {
  return new QueryClient({
    defaultOptions: {
      queries: {
        queryKeyHashFn: narrowedHash,
        retry: (failures, error) =>
          error instanceof ApiProblem &&
          passing.includes(error.text.status) &&
          failures < (error.retryAfterSeconds === null ? retries : retries * patience),
        retryDelay: pauseMs,
        refetchOnWindowFocus: false,
        // Without a network a request fails at once and says so; pausing it would look like endless loading.
        networkMode: 'always',
        refetchOnReconnect: true,
      },
      mutations: { networkMode: 'always' },
    },
  })
}
