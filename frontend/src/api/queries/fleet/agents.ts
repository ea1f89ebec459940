import type { SwitchRequest } from '../../_generated/schema'
import { askedQuery, changing, kept, send } from '../base/ask'

/** Releases of agents in use, and the hosts whose agent is behind the service. Operators may see them. */
export function agentVersionsQuery(outdatedOnly: boolean) {
  const params = { limit: 1000, ...(outdatedOnly ? { outdated: true } : {}) }
  return askedQuery('/v1/agents/versions', params, { ...kept, refetchInterval: 30_000, retry: false })
}

/** Which agents are paused, and by whom. */
export function pausesQuery() {
  return askedQuery('/v1/agents/pauses', {}, { refetchInterval: 30_000 })
}

/** Stop the agent of a host or of all; heat alone, or everything. Throws ApiProblem. */
export const pauseAgents = changing(['/v1/agents/pauses', '/v1/hosts/{host_id}'], (body: SwitchRequest) =>
  send('post', '/v1/agents/pause', {}, body),
)

/** End the pauses of a host or of all. Throws ApiProblem. */
export const resumeAgents = changing(['/v1/agents/pauses', '/v1/hosts/{host_id}'], (body: SwitchRequest) =>
  send('post', '/v1/agents/resume', {}, body),
)
