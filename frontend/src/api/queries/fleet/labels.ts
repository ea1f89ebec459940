import type { QueryClient } from '@tanstack/react-query'
import { client, dataOf } from '../../client'
import { askedQuery, changing, send } from '../base/ask'

/** The labels of a host with their sources. */
export function hostLabelsQuery(hostId: string) {
  return askedQuery('/v1/hosts/{host_id}/labels', { host_id: hostId }, { staleTime: 15_000 })
}

const stale: Parameters<typeof changing>[0] = ['/v1/hosts/{host_id}/labels', '/v1/hosts/{host_id}', '/v1/hosts']

/** Set the labels of a host that are set here; none of before stays. Throws ApiProblem. */
export const setHostLabels = (queries: QueryClient, hostId: string) =>
  changing(stale, (labels: Record<string, string>) =>
    send('put', '/v1/hosts/{host_id}/labels', { host_id: hostId }, { labels }),
  )(queries)

/** Set labels of many hosts from a CSV file, or only say what it would change. Throws ApiProblem. */
export const uploadHostLabels = changing(stale, ({ csv, dryRun }: { csv: string; dryRun: boolean }) =>
  dataOf(
    client.POST('/v1/hosts/labels', {
      params: { query: { dry_run: dryRun } },
      body: csv,
      bodySerializer: (body) => body,
      headers: { 'Content-Type': 'text/csv' },
    }),
  ),
)
