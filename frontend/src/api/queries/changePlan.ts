import { client } from '../client'
import { askedQuery, kept, polledQuery } from './base/ask'

/** What of the plan goes into a bundle: changes by id, and their hosts. Empty lists of hosts limit nothing. */
export interface BundleChoice {
  changes: string[]
  hosts: string[]
  without: string[]
}

/** Settings to change in the fleet, by identical change. */
export function changePlanQuery(refreshMs: number | null) {
  return polledQuery(['advice', 'plan'], refreshMs, (signal) => client.GET('/v1/advice/plan', { signal }), kept)
}

/** The files of some changes. */
export function planBundleQuery({ changes, hosts, without }: BundleChoice) {
  return askedQuery(
    ['advice', 'bundle', changes, hosts, without],
    (signal) =>
      client.GET('/v1/advice/plan/bundle', {
        params: { query: { change: changes, host: hosts, without_host: without } },
        signal,
      }),
    { staleTime: 15_000 },
  )
}

/** Canary and control hosts of a change; without a service, of that with most of its hosts. */
export function canariesQuery(change: string | undefined, service: string | undefined, canaries: number | undefined) {
  return askedQuery(
    ['advice', 'canaries', change, service, canaries],
    (signal) =>
      client.GET('/v1/advice/plan/canaries', {
        params: { query: { change: change ?? '', service, canary_n: canaries } },
        signal,
      }),
    { ...kept, enabled: change !== undefined, staleTime: 60_000 },
  )
}

/** Hosts that are set otherwise than most of their peers. */
export function settingDriftQuery(refreshMs: number | null) {
  return polledQuery(
    ['advice', 'drift'],
    refreshMs,
    (signal) => client.GET('/v1/advice/drift', { params: { query: { limit: 1000 } }, signal }),
    { ...kept, staleTime: 60_000 },
  )
}
