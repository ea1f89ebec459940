import { QueryClient } from '@tanstack/react-query'
import { narrowedHash } from './narrowing'
import { ApiProblem } from './problem'

/** Statuses after which asking again at once may help: no answer, or a busy service. A refusal stays one. */
const passing = [0, 429, 502, 503, 504]

/** The store of all answers. Specs leave out the retries. */
export function createQueryClient(retries = 2): QueryClient {
  return new QueryClient({
    defaultOptions: {
      queries: {
        queryKeyHashFn: narrowedHash,
        retry: (failures, error) =>
          failures < retries && error instanceof ApiProblem && passing.includes(error.text.status),
        refetchOnWindowFocus: false,
        // Without a network a request fails at once and says so; pausing it would look like endless loading.
        networkMode: 'always',
        refetchOnReconnect: true,
      },
      mutations: { networkMode: 'always' },
    },
  })
}
