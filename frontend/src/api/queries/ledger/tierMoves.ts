import { keepPreviousData, queryOptions } from '@tanstack/react-query'
import { client, dataOf } from '../../client'
import { rangeQuery, refreshing, type TimeRange } from '../base/range'

/** The ledger of tier moves of a host. */
export function hostLedgerQuery(hostId: string, range: TimeRange) {
  return queryOptions({
    queryKey: ['host-ledger', hostId, range.from, range.to],
    queryFn: ({ signal }) =>
      dataOf(
        client.GET('/v1/hosts/{host_id}/ledger', {
          params: { path: { host_id: hostId }, query: rangeQuery(range) },
          signal,
        }),
      ),
    placeholderData: keepPreviousData,
    ...refreshing(range),
  })
}

/** The ledger of tier moves of a service's own cgroups, summed over hosts. */
export function serviceLedgerQuery(serviceId: string, range: TimeRange) {
  return queryOptions({
    queryKey: ['service-ledger', serviceId, range.from, range.to],
    queryFn: ({ signal }) =>
      dataOf(
        client.GET('/v1/services/{service_id}/ledger', {
          params: { path: { service_id: serviceId }, query: rangeQuery(range) },
          signal,
        }),
      ),
    placeholderData: keepPreviousData,
    ...refreshing(range),
  })
}
