import { askedQuery, kept, polled } from './base/ask'

/** What of the plan goes into a bundle: changes by id, and their hosts. Empty lists of hosts limit nothing. */
export interface BundleChoice {
  changes: string[]
  hosts: string[]
  without: string[]
}

/** Settings to change in the fleet, by identical change. */
export function changePlanQuery(refreshMs: number | null) {
  return askedQuery('/v1/advice/plan', {}, { ...kept, ...polled(refreshMs) })
}

/** The files of some changes. */
export function planBundleQuery({ changes, hosts, without }: BundleChoice) {
  const params = { change: changes, host: hosts, without_host: without }
  return askedQuery('/v1/advice/plan/bundle', params, { staleTime: 15_000 })
}

/** Canary and control hosts of a change; without a service, of that with most of its hosts. */
export function canariesQuery(change: string | undefined, service: string | undefined, canaries: number | undefined) {
  const params = { change: change ?? '', service, canary_n: canaries }
  return askedQuery('/v1/advice/plan/canaries', params, { ...kept, enabled: change !== undefined, staleTime: 60_000 })
}

/** Hosts that are set otherwise than most of their peers. */
export function settingDriftQuery(refreshMs: number | null) {
  return askedQuery('/v1/advice/drift', { limit: 1000 }, { ...kept, ...polled(refreshMs), staleTime: 60_000 })
}
