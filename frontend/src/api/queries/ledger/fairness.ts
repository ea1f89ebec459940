import type { FairBasis, LimitKind, TenantKind } from '../../../lib/url/fairnessUrl'
import { rangeQuery, type TimeRange } from '../base/range'
import { askedQuery, rangedQuery } from '../base/ask'

/** Who holds how much of a host's top tier, against what is fair, and who pushed whom out. */
export function hostFairnessQuery(hostId: string, range: TimeRange, by: TenantKind, basis: FairBasis | undefined) {
  return rangedQuery('/v1/hosts/{host_id}/fairness', { host_id: hostId, by, basis }, range)
}

/** What is replayed of a host: the proposed protection, or a setting of one service. */
export interface WantedLimit {
  replay: LimitKind
  tenant: string
  mib: number
}

/** What limits of the top tier and `memory.low` would do to the services of a host; null asks for nothing. */
export function hostLimitsQuery(
  hostId: string,
  range: TimeRange,
  basis: FairBasis | undefined,
  wanted: WantedLimit | null,
) {
  const setting = wanted === null ? [] : [`${wanted.tenant}=${wanted.mib * 2 ** 20}`]
  const params = {
    host_id: hostId,
    ...rangeQuery(range),
    basis,
    ...(wanted?.replay === 'low' ? { protect: setting } : {}),
    ...(wanted?.replay === 'max' ? { limit: setting } : {}),
  }
  // A replay takes seconds, and page samples come by the hour.
  const options = { enabled: wanted !== null, staleTime: 300_000, refetchInterval: false } as const
  return askedQuery('/v1/hosts/{host_id}/fairness/limits', params, options)
}

/** What a service holds of the top tier of each of its hosts, against its fair share. */
export function serviceFairnessQuery(serviceId: string, range: TimeRange, basis: FairBasis | undefined) {
  return rangedQuery('/v1/services/{service_id}/fairness', { service_id: serviceId, basis }, range)
}
