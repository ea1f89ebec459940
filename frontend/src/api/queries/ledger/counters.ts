import { client } from '../../client'
import { rangeQuery, type TimeRange } from '../base/range'
import { askedQuery, rangedQuery } from '../base/ask'

/** The counters that a host offers. */
export function counterNamesQuery(hostId: string) {
  return askedQuery(
    ['counter-names', hostId],
    (signal) =>
      client.GET('/v1/hosts/{host_id}/counters/names', {
        params: { path: { host_id: hostId }, query: { limit: 10000 } },
        signal,
      }),
    { staleTime: 5 * 60_000 },
  )
}

/** One counter of a host: a series per scope that has it. Without a source, the API looks through all of them. */
export function counterQuery(hostId: string, name: string, source: string | undefined, range: TimeRange) {
  return rangedQuery(['counter', hostId, name, source, range.from, range.to], range, (signal) =>
    client.GET('/v1/hosts/{host_id}/counters', {
      params: { path: { host_id: hostId }, query: { name, source, ...rangeQuery(range) } },
      signal,
    }),
  )
}
