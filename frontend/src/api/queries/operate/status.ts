import { queryOptions } from '@tanstack/react-query'
import { client, dataOf } from '../../client'

/** Health of the installation. */
export function statusQuery() {
  return queryOptions({
    queryKey: ['status'],
    queryFn: ({ signal }) => dataOf(client.GET('/v1/status', { signal })),
    refetchInterval: 15_000,
  })
}

/** The metric catalogue. */
export function catalogueQuery() {
  return queryOptions({
    queryKey: ['metrics'],
    queryFn: ({ signal }) => dataOf(client.GET('/v1/metrics', { signal })),
    staleTime: Infinity,
  })
}
