import { keepPreviousData, queryOptions } from '@tanstack/react-query'
import { client, dataOf } from '../../client'
import { readAll } from '../base/pages'

/** All hosts; `service` narrows them to those of one service id. */
export function hostsQuery(refreshMs: number | null, service?: string) {
  return queryOptions({
    queryKey: ['hosts', service],
    queryFn: ({ signal }) =>
      readAll((cursor) =>
        dataOf(client.GET('/v1/hosts', { params: { query: { limit: 1000, cursor, service } }, signal })),
      ),
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
