import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import type { HostsAway, HostSummary, operations } from '../../_generated/schema'
import { client, dataOf } from '../../client'
import { readAll } from '../base/pages'
import { askedQuery, kept, polledQuery } from '../base/ask'

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
    queryKey: ['hosts', 'pages', asked],
    queryFn: ({ signal, pageParam }) =>
      dataOf(
        client.GET('/v1/hosts', { params: { query: { ...asked, limit: hostsAtOnce, cursor: pageParam } }, signal }),
      ),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next_cursor,
    ...kept,
    refetchInterval: refreshMs ?? false,
    staleTime: 15_000,
  })
}

/** Hosts that have all these words in their name, kernel, tiers or labels, the first ones by name. */
export function hostSearchQuery(q: string, limit: number) {
  return askedQuery(
    ['hosts', 'search', q, limit],
    (signal) => client.GET('/v1/hosts', { params: { query: { q, limit } }, signal }),
    { ...kept, staleTime: 15_000 },
  )
}

/** How many hosts there are by state. */
export function hostCountsQuery(refreshMs: number | null) {
  return queryOptions({
    queryKey: ['hosts', 'counts'],
    queryFn: async ({ signal }) =>
      (await dataOf(client.GET('/v1/hosts', { params: { query: { limit: 1 } }, signal }))).fleet,
    refetchInterval: refreshMs ?? false,
    staleTime: 15_000,
  })
}

/** All hosts, at most 10,000; `service` narrows them to those of one service id. */
export function hostsQuery(refreshMs: number | null, service?: string) {
  return queryOptions({
    queryKey: ['hosts', service],
    queryFn: async ({ signal }) => {
      let away: HostsAway | undefined
      let matching = 0
      const hosts = await readAll(async (cursor) => {
        const page = await dataOf(
          client.GET('/v1/hosts', { params: { query: { limit: 1000, cursor, service } }, signal }),
        )
        away ??= page.away
        matching = page.matching
        return page
      })
      return { ...hosts, away, matching }
    },
    ...kept,
    refetchInterval: refreshMs ?? false,
    staleTime: 15_000,
  })
}

/** Everything that is known of one host now. */
export function hostQuery(hostId: string, refreshMs: number | null) {
  return polledQuery(['host', hostId], refreshMs, (signal) =>
    client.GET('/v1/hosts/{host_id}', { params: { path: { host_id: hostId } }, signal }),
  )
}
