import { keepPreviousData, queryOptions } from '@tanstack/react-query'
import type { FairBasis, TenantKind } from '../../../lib/url/urlState'
import { client, dataOf } from '../../client'
import { rangeQuery, refreshing, type TimeRange } from '../base/range'

/** Who holds how much of a host's top tier, against what is fair, and who pushed whom out. */
export function hostFairnessQuery(hostId: string, range: TimeRange, by: TenantKind, basis: FairBasis | undefined) {
  return queryOptions({
    queryKey: ['host-fairness', hostId, range.from, range.to, by, basis],
    queryFn: ({ signal }) =>
      dataOf(
        client.GET('/v1/hosts/{host_id}/fairness', {
          params: {
            path: { host_id: hostId },
            query: { ...rangeQuery(range), by, ...(basis === undefined ? {} : { basis }) },
          },
          signal,
        }),
      ),
    placeholderData: keepPreviousData,
    ...refreshing(range),
  })
}
