import { queryOptions } from '@tanstack/react-query'
import { client, dataOf } from '../../client'

/** The workload of a paper that a simulated service stands for; null asks for nothing. */
export function serviceWorkloadQuery(serviceId: string | null) {
  return queryOptions({
    queryKey: ['service-workload', serviceId],
    queryFn: ({ signal }) =>
      dataOf(
        client.GET('/v1/simulator/services/{service_id}/workload', {
          params: { path: { service_id: serviceId ?? '' } },
          signal,
        }),
      ),
    enabled: serviceId !== null,
    staleTime: 60_000,
  })
}
