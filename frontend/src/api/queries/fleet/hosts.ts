import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import type { HostsAway, HostSummary, operations } from '../../_generated/schema'
import { readAll } from '../base/pages'
import { ask, askedQuery, kept, polled } from '../base/ask'

/** By what hosts are put in order. */
export type HostSort = NonNullable<NonNullable<operations['list_hosts_v1_hosts_get']['parameters']['query']>['sort']>

/** How a list of hosts is narrowed and put in order. */
export interface HostsAsked {
  q?: string | undefined
  state?: HostSummary['state'] | undefined
  service?: string | undefined
  cause?: string | undefined
  host?: string[] | undefined
  sort?: HostSort | undefined
  order?: 'ascending' | 'descending' | undefined
}

/** Hosts at once in a list that is read page by page. */
const hostsAtOnce = 500

/** Hosts of a fleet of any size, narrowed and put in order by the service, page by page. */
export function hostPagesQuery(asked: HostsAsked, refreshMs: number | null) {
  return infiniteQueryOptions({
    queryKey: ['/v1/hosts', 'pages', asked],
    queryFn: ({ signal, pageParam }) => ask('/v1/hosts', { ...asked, limit: hostsAtOnce, cursor: pageParam }, signal),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next_cursor,
    ...kept,
    ...polled(refreshMs),
  })
}

/** Hosts that have all these words in their name, kernel, tiers or labels, the first ones by name. */
export function hostSearchQuery(q: string, limit: number) {
  return askedQuery('/v1/hosts', { q, limit }, { ...kept, staleTime: 15_000 })
}

/** How many hosts there are by state. */
export function hostCountsQuery(refreshMs: number | null) {
  return queryOptions({
    queryKey: ['/v1/hosts', 'counts'],
    queryFn: async ({ signal }) => (await ask('/v1/hosts', { limit: 1 }, signal)).fleet,
    ...polled(refreshMs),
  })
}

/** All hosts, at most 10,000; `service` narrows them to those of one service id. */
export function hostsQuery(refreshMs: number | null, service?: string) {
  return queryOptions({
    queryKey: ['/v1/hosts', 'all', service],
    queryFn: async ({ signal }) => {
      let away: HostsAway | undefined
      let matching = 0
      const hosts = await readAll(async (cursor) => {
        const page = await ask('/v1/hosts', { limit: 1000, cursor, service }, signal)
        away ??= page.away
        matching = page.matching
        return page
      })
      return { ...hosts, away, matching }
    },
    ...kept,
    ...polled(refreshMs),
  })
}

/** Everything that is known of one host now. */
export function hostQuery(hostId: string, refreshMs: number | null) {
  return askedQuery('/v1/hosts/{host_id}', { host_id: hostId }, polled(refreshMs))
}
