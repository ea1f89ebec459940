import { keepPreviousData, queryOptions } from '@tanstack/react-query'
import { client, dataOf } from '../client'

/** What of the plan goes into a bundle: changes by id, and their hosts. Empty lists of hosts limit nothing. */
export interface BundleChoice {
  changes: string[]
  hosts: string[]
  without: string[]
}

/** Settings to change in the fleet, by identical change. */
export function changePlanQuery(refreshMs: number | null) {
  return queryOptions({
    queryKey: ['advice', 'plan'],
    queryFn: ({ signal }) => dataOf(client.GET('/v1/advice/plan', { signal })),
    placeholderData: keepPreviousData,
    refetchInterval: refreshMs ?? false,
    staleTime: 15_000,
  })
}

/** The files of some changes. */
export function planBundleQuery({ changes, hosts, without }: BundleChoice) {
  return queryOptions({
    queryKey: ['advice', 'bundle', changes, hosts, without],
    queryFn: ({ signal }) =>
      dataOf(
        client.GET('/v1/advice/plan/bundle', {
          params: { query: { change: changes, host: hosts, without_host: without } },
          signal,
        }),
      ),
    staleTime: 15_000,
  })
}

/** Canary and control hosts of a change; without a service, of that with most of its hosts. */
export function canariesQuery(change: string | undefined, service: string | undefined, canaries: number | undefined) {
  return queryOptions({
    queryKey: ['advice', 'canaries', change, service, canaries],
    queryFn: ({ signal }) =>
      dataOf(
        client.GET('/v1/advice/plan/canaries', {
          params: { query: { change: change ?? '', service, canary_n: canaries } },
          signal,
        }),
      ),
    placeholderData: keepPreviousData,
    enabled: change !== undefined,
    staleTime: 60_000,
  })
}

/** Hosts that are set otherwise than most of their peers. */
export function settingDriftQuery(refreshMs: number | null) {
  return queryOptions({
    queryKey: ['advice', 'drift'],
    queryFn: ({ signal }) => dataOf(client.GET('/v1/advice/drift', { params: { query: { limit: 1000 } }, signal })),
    placeholderData: keepPreviousData,
    refetchInterval: refreshMs ?? false,
    staleTime: 60_000,
  })
}
