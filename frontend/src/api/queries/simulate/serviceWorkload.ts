import { askedQuery } from '../base/ask'

/** The workload of a paper that a simulated service stands for; null asks for nothing. */
export function serviceWorkloadQuery(serviceId: string | null) {
  const options = { enabled: serviceId !== null, staleTime: 60_000 }
  return askedQuery('/v1/simulator/services/{service_id}/workload', { service_id: serviceId ?? '' }, options)
}
