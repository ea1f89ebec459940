import { queryOptions } from '@tanstack/react-query'
import { ask } from '../base/ask'

/** How often what a new host has sent is asked for. */
export const newHostsRefreshMs = 15_000
const span = 3600

/** The start of the last hour in RFC 3339, to the minute, so that it is the same question for a minute. */
function sinceHour(): string {
  return new Date(Math.floor(Date.now() / 60_000) * 60_000 - span * 1000).toISOString()
}

/** Hosts that were enrolled within the last hour and carry these labels, as `key=value`; 1,000 at most. */
export function newHostsQuery(labels: string[]) {
  return queryOptions({
    queryKey: ['/v1/hosts', 'new', labels],
    queryFn: ({ signal }) => ask('/v1/hosts', { limit: 1000, enrolled_since: sinceHour(), label: labels }, signal),
    refetchInterval: newHostsRefreshMs,
  })
}

/** The newest card of advice on a host; null where there is none. */
export function firstAdviceQuery(hostId: string, refreshMs: number | false) {
  return queryOptions({
    queryKey: ['/v1/advice', 'first', hostId],
    queryFn: async ({ signal }) => (await ask('/v1/advice', { host: hostId, limit: 1 }, signal)).items[0] ?? null,
    refetchInterval: refreshMs,
  })
}
