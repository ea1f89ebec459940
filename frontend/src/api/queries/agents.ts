import { keepPreviousData, queryOptions } from '@tanstack/react-query'
import { client, dataOf } from '../client'

/** Releases of agents in use, and the hosts whose agent is behind the service. Operators may see them. */
export function agentVersionsQuery(outdatedOnly: boolean) {
  return queryOptions({
    queryKey: ['agent-versions', outdatedOnly],
    queryFn: ({ signal }) =>
      dataOf(
        client.GET('/v1/agents/versions', {
          params: { query: { limit: 1000, ...(outdatedOnly ? { outdated: true } : {}) } },
          signal,
        }),
      ),
    placeholderData: keepPreviousData,
    refetchInterval: 30_000,
    retry: false,
  })
}

/** Which agents are paused, and by whom. */
export function pausesQuery() {
  return queryOptions({
    queryKey: ['agent-pauses'],
    queryFn: ({ signal }) => dataOf(client.GET('/v1/agents/pauses', { signal })),
    refetchInterval: 30_000,
  })
}
