import { queryOptions } from '@tanstack/react-query'
import type { FairBasis, LimitKind, TenantKind } from '../../../lib/url/fairnessUrl'
import { client, dataOf } from '../../client'
import { rangeQuery, type TimeRange } from '../base/range'
import { rangedQuery } from '../base/ask'

/** Who holds how much of a host's top tier, against what is fair, and who pushed whom out. */
export function hostFairnessQuery(hostId: string, range: TimeRange, by: TenantKind, basis: FairBasis | undefined) {
  return rangedQuery(['host-fairness', hostId, range.from, range.to, by, basis], range, (signal) =>
    client.GET('/v1/hosts/{host_id}/fairness', {
      params: {
        path: { host_id: hostId },
        query: { ...rangeQuery(range), by, ...(basis === undefined ? {} : { basis }) },
      },
      signal,
    }),
  )
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
  return queryOptions({
    queryKey: ['host-limits', hostId, range.from, range.to, basis, wanted],
    queryFn: ({ signal }) =>
      dataOf(
        client.GET('/v1/hosts/{host_id}/fairness/limits', {
          params: {
            path: { host_id: hostId },
            query: {
              ...rangeQuery(range),
              ...(basis === undefined ? {} : { basis }),
              ...(wanted?.replay === 'low' ? { protect: setting } : {}),
              ...(wanted?.replay === 'max' ? { limit: setting } : {}),
            },
          },
          signal,
        }),
      ),
    enabled: wanted !== null,
    // A replay takes seconds, and page samples come by the hour.
    staleTime: 300_000,
    refetchInterval: false,
  })
}

/** What a service holds of the top tier of each of its hosts, against its fair share. */
export function serviceFairnessQuery(serviceId: string, range: TimeRange, basis: FairBasis | undefined) {
  return rangedQuery(['service-fairness', serviceId, range.from, range.to, basis], range, (signal) =>
    client.GET('/v1/services/{service_id}/fairness', {
      params: {
        path: { service_id: serviceId },
        query: { ...rangeQuery(range), ...(basis === undefined ? {} : { basis }) },
      },
      signal,
    }),
  )
}
