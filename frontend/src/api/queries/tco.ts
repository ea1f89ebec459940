import { queryOptions, type QueryClient } from '@tanstack/react-query'
import type { PriceRequest, ScenarioDocument } from '../_generated/schema'
import { client, dataOf } from '../client'
import { askedQuery, changing, kept, listQuery, send } from './base/ask'

/** The same draws for everybody, so that a link shows the same numbers to each who opens it. */
const draws = { seed: 1, draws: 10_000 }

/** A complete scenario to start from, with what each input may be. */
export function scenarioDefaultsQuery() {
  return askedQuery('/v1/scenarios/defaults', {}, { staleTime: Infinity })
}

/** Scenarios filled in from the hosts of a service, or of the whole fleet; `share` in place of the advised DRAM share. */
export function scenarioPresetsQuery(service: string | undefined, share: number | undefined) {
  return askedQuery('/v1/scenarios/presets', { service, dram_ratio: share }, { staleTime: 300_000 })
}

/** All stored scenarios, newest first. */
export function scenariosQuery() {
  return listQuery('/v1/scenarios', {}, { staleTime: 15_000 })
}

/** One stored scenario; disabled while none is chosen. */
export function scenarioQuery(scenarioId: string | undefined) {
  const options = { enabled: scenarioId !== undefined, staleTime: 15_000 }
  return askedQuery('/v1/scenarios/{scenario_id}', { scenario_id: scenarioId ?? '' }, options)
}

/** The cost of a scenario; a request that a newer one replaces is aborted. */
export function tcoQuery(spec: ScenarioDocument | undefined) {
  return queryOptions({
    queryKey: ['/v1/tco/evaluate', spec],
    queryFn: ({ signal }) => send('post', '/v1/tco/evaluate', {}, { spec: spec as ScenarioDocument, ...draws }, signal),
    enabled: spec !== undefined,
    ...kept,
    staleTime: 60_000,
    gcTime: 60_000,
    retry: false,
  })
}

/** The scenario as a spreadsheet whose formulas give every total again. Throws ApiProblem. */
export function sheetOf(spec: ScenarioDocument): Promise<Blob> {
  return dataOf<Blob>(client.POST('/v1/tco/sheet', { body: { spec, ...draws }, parseAs: 'blob' }))
}

/** Stored scenarios beside each other; asks for two or more. */
export function comparisonQuery(ids: string[]) {
  const options = { enabled: ids.length >= 2, ...kept, staleTime: 15_000, retry: false }
  return askedQuery('/v1/tco/compare', { scenario: ids, seed: draws.seed }, options)
}

/** The price book with the published presets. */
export function pricesQuery() {
  return askedQuery('/v1/prices', {}, { staleTime: 15_000 })
}

/** Store a scenario, as values or as a YAML file. Throws ApiProblem. */
export const storeScenario = changing(
  ['/v1/scenarios'],
  (body: { name?: string; spec?: ScenarioDocument; yaml?: string }) => send('post', '/v1/scenarios', {}, body),
)

/** Replace a stored scenario; refused where somebody changed it since `version`. Throws ApiProblem. */
export const changeScenario = (queries: QueryClient, scenarioId: string) =>
  changing(
    ['/v1/scenarios', ['/v1/scenarios/{scenario_id}', { scenario_id: scenarioId }]],
    (body: { version: number; spec: ScenarioDocument }) =>
      send('put', '/v1/scenarios/{scenario_id}', { scenario_id: scenarioId }, body),
  )(queries)

/** Delete a stored scenario. Throws ApiProblem. */
export const deleteScenario = changing(['/v1/scenarios'], (id: string) =>
  send('delete', '/v1/scenarios/{scenario_id}', { scenario_id: id }),
)

/** Add a price to the price book. Throws ApiProblem. */
export const addPrice = changing(['/v1/prices', '/v1/tco/evaluate'], (body: PriceRequest) =>
  send('post', '/v1/prices', {}, body),
)

/** Stand for a price of the book, a published one too. Throws ApiProblem. */
export const confirmPrice = changing(['/v1/prices', '/v1/tco/evaluate'], (id: string) =>
  send('post', '/v1/prices/{price_id}/confirm', { price_id: id }),
)
