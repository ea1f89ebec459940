import type { QueryClient } from '@tanstack/react-query'
import { askedQuery, changing, send } from '../base/ask'

const whileRunningMs = 2000

/** Jobs that remove data, newest first. Administrators alone may see them. */
export function purgesQuery() {
  return askedQuery(
    '/v1/purges',
    { limit: 100 },
    {
      refetchInterval: ({ state }) =>
        state.data?.items.some(({ status }) => status !== 'done') === true ? whileRunningMs : 30_000,
      retry: false,
    },
  )
}

/** One job that removes data; asked again until it is done. */
export function purgeQuery(purgeId: string | null) {
  return askedQuery(
    '/v1/purges/{purge_id}',
    { purge_id: purgeId ?? '' },
    {
      enabled: purgeId !== null,
      refetchInterval: ({ state }) => (state.data?.status === 'done' ? false : whileRunningMs),
    },
  )
}

/** Remove all data of a host or a service; `confirm` is its name, typed. Throws ApiProblem. */
export const startPurge = (queries: QueryClient, subject: { kind: 'host' | 'service'; id: string }) =>
  changing(['/v1/purges'], (confirm: string) =>
    subject.kind === 'host'
      ? send('post', '/v1/hosts/{host_id}/purge', { host_id: subject.id }, { confirm })
      : send('post', '/v1/services/{service_id}/purge', { service_id: subject.id }, { confirm }),
  )(queries)
