import { queryOptions } from '@tanstack/react-query'
import { client, dataOf } from '../../client'
import { readAll } from '../base/pages'
import { kept } from '../base/ask'

/** All pods that run on a host. */
export function hostPodsQuery(hostId: string, refreshMs: number | null) {
  return queryOptions({
    queryKey: ['host-pods', hostId],
    queryFn: ({ signal }) =>
      readAll((cursor) =>
        dataOf(
          client.GET('/v1/hosts/{host_id}/pods', {
            params: { path: { host_id: hostId }, query: { limit: 1000, cursor } },
            signal,
          }),
        ),
      ),
    ...kept,
    refetchInterval: refreshMs ?? false,
    staleTime: 15_000,
  })
}

/** All pods of a service. */
export function servicePodsQuery(serviceId: string, refreshMs: number | null) {
  return queryOptions({
    queryKey: ['service-pods', serviceId],
    queryFn: ({ signal }) =>
      readAll((cursor) =>
        dataOf(
          client.GET('/v1/services/{service_id}/pods', {
            params: { path: { service_id: serviceId }, query: { limit: 1000, cursor } },
            signal,
          }),
        ),
      ),
    ...kept,
    refetchInterval: refreshMs ?? false,
    staleTime: 15_000,
  })
}
