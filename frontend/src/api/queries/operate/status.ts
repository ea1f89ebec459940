import { askedQuery } from '../base/ask'

/** Health of the installation. */
export function statusQuery() {
  return askedQuery('/v1/status', {}, { refetchInterval: 15_000 })
}

/** The metric catalogue. */
export function catalogueQuery() {
  return askedQuery('/v1/metrics', {}, { staleTime: Infinity })
}
