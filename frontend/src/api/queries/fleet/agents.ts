import type { QueryClient } from '@tanstack/react-query'
import type { SwitchRequest } from '../../_generated/schema'
import { client, dataOf } from '../../client'
import { askedQuery, kept } from '../base/ask'

/** Releases of agents in use, and the hosts whose agent is behind the service. Operators may see them. */
export function agentVersionsQuery(outdatedOnly: boolean) {
  return askedQuery(
    ['agent-versions', outdatedOnly],
    (signal) =>
      client.GET('/v1/agents/versions', {
        params: { query: { limit: 1000, ...(outdatedOnly ? { outdated: true } : {}) } },
        signal,
      }),
    { ...kept, refetchInterval: 30_000, retry: false },
  )
}

/** Which agents are paused, and by whom. */
export function pausesQuery() {
  return askedQuery(['agent-pauses'], (signal) => client.GET('/v1/agents/pauses', { signal }), {
    refetchInterval: 30_000,
  })
}

const switched = (queries: QueryClient) => async () => {
  for (const key of ['agent-pauses', 'host']) await queries.invalidateQueries({ queryKey: [key] })
}

/** Stop the agent of a host or of all; heat alone, or everything. Throws ApiProblem. */
export function pauseAgents(queries: QueryClient) {
  return {
    mutationFn: (body: SwitchRequest) => dataOf(client.POST('/v1/agents/pause', { body })),
    onSuccess: switched(queries),
  }
}

/** End the pauses of a host or of all. Throws ApiProblem. */
export function resumeAgents(queries: QueryClient) {
  return {
    mutationFn: (body: SwitchRequest) => dataOf(client.POST('/v1/agents/resume', { body })),
    onSuccess: switched(queries),
  }
}
