import type { TimeRange } from '../base/range'
import { askedQuery, rangedQuery } from '../base/ask'

/** The counters that a host offers. */
export function counterNamesQuery(hostId: string) {
  const params = { host_id: hostId, limit: 10000 }
  return askedQuery('/v1/hosts/{host_id}/counters/names', params, { staleTime: 5 * 60_000 })
}

/** One counter of a host: a series per scope that has it. Without a source, the API looks through all of them. */
export function counterQuery(hostId: string, name: string, source: string | undefined, range: TimeRange) {
  return rangedQuery('/v1/hosts/{host_id}/counters', { host_id: hostId, name, source }, range)
}

/** How long tasks of a host waited for memory. */
export function hostPressureQuery(hostId: string, range: TimeRange) {
  return counterQuery(hostId, 'host|pressure.memory|some_total_us', undefined, range)
}
