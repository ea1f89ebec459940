import { client } from '../../client'
import { askedQuery } from '../base/ask'

/** Health of the installation. */
export function statusQuery() {
  return askedQuery(['status'], (signal) => client.GET('/v1/status', { signal }), { refetchInterval: 15_000 })
}

/** The metric catalogue. */
export function catalogueQuery() {
  return askedQuery(['metrics'], (signal) => client.GET('/v1/metrics', { signal }), { staleTime: Infinity })
}
