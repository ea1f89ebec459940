import { queryOptions, type QueryClient } from '@tanstack/react-query'
import type { PriceRequest, ScenarioDocument } from '../_generated/schema'
import { client, dataOf, doneBy } from '../client'
import { readAll } from './base/pages'
import { askedQuery, kept } from './base/ask'

/** The same draws for everybody, so that a link shows the same numbers to each who opens it. */
const draws = { seed: 1, draws: 10_000 }

/** A complete scenario to start from, with what each input may be. */
export function scenarioDefaultsQuery() {
  return askedQuery(['scenario-defaults'], (signal) => client.GET('/v1/scenarios/defaults', { signal }), {
    staleTime: Infinity,
  })
}

/** Scenarios filled in from the hosts of a service, or of the whole fleet; `share` in place of the advised DRAM share. */
export function scenarioPresetsQuery(service: string | undefined, share: number | undefined) {
  return askedQuery(
    ['scenario-presets', service, share],
    (signal) => client.GET('/v1/scenarios/presets', { params: { query: { service, dram_ratio: share } }, signal }),
    { staleTime: 300_000 },
  )
}

/** All stored scenarios, newest first. */
export function scenariosQuery() {
  return queryOptions({
    queryKey: ['scenarios'],
    queryFn: ({ signal }) =>
      readAll((cursor) => dataOf(client.GET('/v1/scenarios', { params: { query: { limit: 1000, cursor } }, signal }))),
    staleTime: 15_000,
  })
}

/** One stored scenario; disabled while none is chosen. */
export function scenarioQuery(scenarioId: string | undefined) {
  return askedQuery(
    ['scenario', scenarioId],
    (signal) =>
      client.GET('/v1/scenarios/{scenario_id}', { params: { path: { scenario_id: scenarioId ?? '' } }, signal }),
    { enabled: scenarioId !== undefined, staleTime: 15_000 },
  )
}

/** The cost of a scenario; a request that a newer one replaces is aborted. */
export function tcoQuery(spec: ScenarioDocument | undefined) {
  return askedQuery(
    ['tco', spec],
    (signal) =>
      client.POST('/v1/tco/evaluate', {
        body: { spec: spec as ScenarioDocument, ...draws },
        signal,
      }),
    { enabled: spec !== undefined, ...kept, staleTime: 60_000, gcTime: 60_000, retry: false },
  )
}

/** The scenario as a spreadsheet whose formulas give every total again. Throws ApiProblem. */
export function sheetOf(spec: ScenarioDocument): Promise<Blob> {
  return dataOf<Blob>(client.POST('/v1/tco/sheet', { body: { spec, ...draws }, parseAs: 'blob' }))
}

/** Stored scenarios beside each other; asks for two or more. */
export function comparisonQuery(ids: string[]) {
  return askedQuery(
    ['tco-comparison', ids],
    (signal) => client.GET('/v1/tco/compare', { params: { query: { scenario: ids, seed: draws.seed } }, signal }),
    { enabled: ids.length >= 2, ...kept, staleTime: 15_000, retry: false },
  )
}

/** The price book with the published presets. */
export function pricesQuery() {
  return askedQuery(['prices'], (signal) => client.GET('/v1/prices', { signal }), { staleTime: 15_000 })
}

/** Store a scenario, as values or as a YAML file. Throws ApiProblem. */
export function storeScenario(queries: QueryClient) {
  return {
    mutationFn: (body: { name?: string; spec?: ScenarioDocument; yaml?: string }) =>
      dataOf(client.POST('/v1/scenarios', { body })),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['scenarios'] }),
  }
}

/** Replace a stored scenario; refused where somebody changed it since `version`. Throws ApiProblem. */
export function changeScenario(queries: QueryClient, scenarioId: string) {
  return {
    mutationFn: (body: { version: number; spec: ScenarioDocument }) =>
      dataOf(client.PUT('/v1/scenarios/{scenario_id}', { params: { path: { scenario_id: scenarioId } }, body })),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ['scenarios'] })
      await queries.invalidateQueries({ queryKey: ['scenario', scenarioId] })
    },
  }
}

/** Delete a stored scenario. Throws ApiProblem. */
export function deleteScenario(queries: QueryClient) {
  return {
    mutationFn: (scenarioId: string) =>
      doneBy(client.DELETE('/v1/scenarios/{scenario_id}', { params: { path: { scenario_id: scenarioId } } })),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['scenarios'] }),
  }
}

/** Add a price to the price book. Throws ApiProblem. */
export function addPrice(queries: QueryClient) {
  return {
    mutationFn: (body: PriceRequest) => dataOf(client.POST('/v1/prices', { body })),
    onSuccess: () => forgetPrices(queries),
  }
}

/** Stand for a price of the book, a published one too. Throws ApiProblem. */
export function confirmPrice(queries: QueryClient) {
  return {
    mutationFn: (priceId: string) =>
      dataOf(client.POST('/v1/prices/{price_id}/confirm', { params: { path: { price_id: priceId } } })),
    onSuccess: () => forgetPrices(queries),
  }
}

async function forgetPrices(queries: QueryClient): Promise<void> {
  await queries.invalidateQueries({ queryKey: ['prices'] })
  await queries.invalidateQueries({ queryKey: ['tco'] })
}
