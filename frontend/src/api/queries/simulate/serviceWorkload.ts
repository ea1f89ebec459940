import { client } from '../../client'
import { askedQuery } from '../base/ask'

/** The workload of a paper that a simulated service stands for; null asks for nothing. */
export function serviceWorkloadQuery(serviceId: string | null) {
  return askedQuery(
    ['service-workload', serviceId],
    (signal) =>
      client.GET('/v1/simulator/services/{service_id}/workload', {
        params: { path: { service_id: serviceId ?? '' } },
        signal,
      }),
    { enabled: serviceId !== null, staleTime: 60_000 },
  )
}
