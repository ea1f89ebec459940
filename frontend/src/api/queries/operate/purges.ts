import type { QueryClient } from '@tanstack/react-query'
import { client, dataOf } from '../../client'
import { askedQuery } from '../base/ask'

const whileRunningMs = 2000

/** Jobs that remove data, newest first. Administrators alone may see them. */
export function purgesQuery() {
  return askedQuery(['purges'], (signal) => client.GET('/v1/purges', { params: { query: { limit: 100 } }, signal }), {
    refetchInterval: (query) =>
      query.state.data?.items.some(({ status }) => status !== 'done') === true ? whileRunningMs : 30_000,
    retry: false,
  })
}

/** One job that removes data; asked again until it is done. */
export function purgeQuery(purgeId: string | null) {
  return askedQuery(
    ['purge', purgeId],
    (signal) => client.GET('/v1/purges/{purge_id}', { params: { path: { purge_id: purgeId ?? '' } }, signal }),
    {
      enabled: purgeId !== null,
      refetchInterval: (query) => (query.state.data?.status === 'done' ? false : whileRunningMs),
    },
  )
}

/** Remove all data of a host or a service; `confirm` is its name, typed. Throws ApiProblem. */
export function startPurge(queries: QueryClient, subject: { kind: 'host' | 'service'; id: string }) {
  return {
    mutationFn: (confirm: string) =>
      subject.kind === 'host'
        ? dataOf(
            client.POST('/v1/hosts/{host_id}/purge', { params: { path: { host_id: subject.id } }, body: { confirm } }),
          )
        : dataOf(
            client.POST('/v1/services/{service_id}/purge', {
              params: { path: { service_id: subject.id } },
              body: { confirm },
            }),
          ),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['purges'] }),
  }
}
