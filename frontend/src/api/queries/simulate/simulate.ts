import type { QueryClient } from '@tanstack/react-query'
import { client, dataOf, doneBy } from '../../client'
import type { SwapLoad } from '../../../lib/url/simulatorUrl'
import { askedQuery, kept } from '../base/ask'

/** The policies that can be simulated, with their settings. */
export function policiesQuery() {
  return askedQuery(['simulator-policies'], (signal) => client.GET('/v1/simulator/policies', { signal }), {
    staleTime: Infinity,
  })
}

/** What can be replayed: page samples of services, synthetic workloads, uploaded traces. */
export function sourcesQuery() {
  return askedQuery(['simulator-sources'], (signal) => client.GET('/v1/simulator/sources', { signal }), {
    staleTime: 30_000,
  })
}

/** Swap devices against their use under one load: kept results of a model, which change with the product alone. */
export function swapDevicesQuery(load: SwapLoad) {
  return askedQuery(
    ['swap-devices', load],
    (signal) => client.GET('/v1/simulator/swap-devices', { params: { query: { load } }, signal }),
    { ...kept, staleTime: Infinity },
  )
}

/** Upload a page trace in Parquet. Throws ApiProblem, which names the row that is wrong. */
export function uploadTrace(queries: QueryClient) {
  return {
    mutationFn: (file: File) =>
      dataOf(
        client.POST('/v1/simulator/uploads', {
          params: { query: { name: file.name } },
          body: file as unknown as string,
          bodySerializer: (body) => body as unknown as BodyInit,
          headers: { 'Content-Type': 'application/octet-stream' },
        }),
      ),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['simulator-sources'] }),
  }
}

/** Delete an uploaded trace. Throws ApiProblem. */
export function deleteTrace(queries: QueryClient) {
  return {
    mutationFn: (uploadId: string) =>
      doneBy(client.DELETE('/v1/simulator/uploads/{upload_id}', { params: { path: { upload_id: uploadId } } })),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['simulator-sources'] }),
  }
}
