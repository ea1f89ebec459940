import { keepPreviousData, queryOptions } from '@tanstack/react-query'
import type { HostsAway } from '../../_generated/schema'
import { client, dataOf } from '../../client'
import { readAll } from '../base/pages'

/** All hosts; `service` narrows them to those of one service id. */
export function hostsQuery(refreshMs: number | null, service?: string) {
  return queryOptions({
    queryKey: ['hosts', service],
    queryFn: async ({ signal }) => {
      let away: HostsAway | undefined
      const hosts = await readAll(async (cursor) => {
        const page = await dataOf(
          client.GET('/v1/hosts', { params: { query: { limit: 1000, cursor, service } }, signal }),
        )
        away ??= page.away
        return page
      })
      return { ...hosts, away }
    },
    placeholderData: keepPreviousData,
    refetchInterval: refreshMs ?? false,
    staleTime: 15_000,
  })
}

/** Everything that is known of one host now. */
export function hostQuery(hostId: string, refreshMs: number | null) {
  return queryOptions({
    queryKey: ['host', hostId],
    queryFn: ({ signal }) =>
      dataOf(client.GET('/v1/hosts/{host_id}', { params: { path: { host_id: hostId } }, signal })),
    refetchInterval: refreshMs ?? false,
    staleTime: 15_000,
  })
}
