import type { QueryClient } from '@tanstack/react-query'
import { client, dataOf } from '../../client'
import { askedQuery } from '../base/ask'

/** The labels of a host with their sources. */
export function hostLabelsQuery(hostId: string) {
  return askedQuery(
    ['labels', hostId],
    (signal) => client.GET('/v1/hosts/{host_id}/labels', { params: { path: { host_id: hostId } }, signal }),
    { staleTime: 15_000 },
  )
}

const changed = (queries: QueryClient) => async () => {
  for (const key of ['labels', 'host', 'hosts']) await queries.invalidateQueries({ queryKey: [key] })
}

/** Set the labels of a host that are set here; none of before stays. Throws ApiProblem. */
export function setHostLabels(queries: QueryClient, hostId: string) {
  return {
    mutationFn: (labels: Record<string, string>) =>
      dataOf(client.PUT('/v1/hosts/{host_id}/labels', { params: { path: { host_id: hostId } }, body: { labels } })),
    onSuccess: changed(queries),
  }
}

/** Set labels of many hosts from a CSV file, or only say what it would change. Throws ApiProblem. */
export function uploadHostLabels(queries: QueryClient) {
  return {
    mutationFn: ({ csv, dryRun }: { csv: string; dryRun: boolean }) =>
      dataOf(
        client.POST('/v1/hosts/labels', {
          params: { query: { dry_run: dryRun } },
          body: csv,
          bodySerializer: (body) => body,
          headers: { 'Content-Type': 'text/csv' },
        }),
      ),
    onSuccess: changed(queries),
  }
}
