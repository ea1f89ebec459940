import { client, dataOf } from '../../client'
import type { SwapLoad } from '../../../lib/url/simulatorUrl'
import { askedQuery, changing, kept, send } from '../base/ask'

/** The policies that can be simulated, with their settings. */
export function policiesQuery() {
  return askedQuery('/v1/simulator/policies', {}, { staleTime: Infinity })
}

/** What can be replayed: page samples of services, synthetic workloads, uploaded traces. */
export function sourcesQuery() {
  return askedQuery('/v1/simulator/sources', {}, { staleTime: 30_000 })
}

/** Swap devices against their use under one load: kept results of a model, which change with the product alone. */
export function swapDevicesQuery(load: SwapLoad) {
  return askedQuery('/v1/simulator/swap-devices', { load }, { ...kept, staleTime: Infinity })
}

/** Upload a page trace in Parquet. Throws ApiProblem, which names the row that is wrong. */
export const uploadTrace = changing(['/v1/simulator/sources'], (file: File) =>
  dataOf(
    client.POST('/v1/simulator/uploads', {
      params: { query: { name: file.name } },
      body: file as unknown as string,
      bodySerializer: (body) => body as unknown as BodyInit,
      headers: { 'Content-Type': 'application/octet-stream' },
    }),
  ),
)

/** Delete an uploaded trace. Throws ApiProblem. */
export const deleteTrace = changing(['/v1/simulator/sources'], (id: string) =>
  send('delete', '/v1/simulator/uploads/{upload_id}', { upload_id: id }),
)
