import { kept, listQuery, polled } from '../base/ask'

/** All pods that run on a host. */
export function hostPodsQuery(hostId: string, refreshMs: number | null) {
  return listQuery('/v1/hosts/{host_id}/pods', { host_id: hostId }, { ...kept, ...polled(refreshMs) })
}

/** All pods of a service. */
export function servicePodsQuery(serviceId: string, refreshMs: number | null) {
  return listQuery('/v1/services/{service_id}/pods', { service_id: serviceId }, { ...kept, ...polled(refreshMs) })
}
