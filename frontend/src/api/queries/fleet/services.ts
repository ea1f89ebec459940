import { rangeQuery, type TimeRange } from '../base/range'
import { askedQuery, kept, listQuery, polled, rangedQuery } from '../base/ask'

/** All services. */
export function servicesQuery(refreshMs: number | null) {
  return listQuery('/v1/services', {}, { ...kept, ...polled(refreshMs) })
}

/** One service in one sentence, and its evidence. */
export function serviceQuery(serviceId: string, range: TimeRange) {
  return rangedQuery('/v1/services/{service_id}', { service_id: serviceId }, range)
}

/** RDMA and SMC-R of a service's hosts beside those of another service, or of itself at another time. */
export function networkQuery(serviceId: string, range: TimeRange, otherId: string, other: TimeRange) {
  const params = { service_id: serviceId, other: otherId, other_from: other.from, other_to: other.to }
  return askedQuery('/v1/services/{service_id}/network', { ...params, ...rangeQuery(range) }, { staleTime: 60_000 })
}
