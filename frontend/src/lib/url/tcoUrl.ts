/** What the URL carries of the TCO page. */
import { readChanges, type UrlChanges } from '../tco/scenarioSpec'
import { oneOf, readTimeSearch, text, whole, type RawSearch, type TimeSearch } from './urlState'

export const costScales = ['host', 'fleet'] as const
/** Scenarios that the service fills in from real hosts, and an example of a thousand made-up ones. */
const startKeys = ['today', 'cxl', 'ddr4', 'example'] as const

/** Parameters of the TCO page. */
export interface TcoSearch extends TimeSearch {
  /** What the page starts from: the fleet's own hosts. Changes without it are of the example, as in links of old. */
  start?: (typeof startKeys)[number] | undefined
  /** The service whose hosts, memory and advice that scenario has; without one the whole fleet's. */
  service?: string | undefined
  /** DRAM's share of its memory, in place of the advised one. */
  share?: number | undefined
  /** What differs from the scenario that the page started from, by path. */
  set?: UrlChanges | undefined
  /** Position of the option that charts show, counted from 1. */
  option?: number | undefined
  scale?: (typeof costScales)[number] | undefined
  /** Ids of stored scenarios to set beside each other, joined by commas. */
  compare?: string | undefined
}

function shareOf(raw: unknown): number | undefined {
  const share = Number(raw)
  return share > 0 && share <= 1 ? share : undefined
}

/** The TCO page's part of a URL. */
export function readTcoSearch(raw: RawSearch): TcoSearch {
  return {
    ...readTimeSearch(raw),
    start: oneOf(raw, 'start', startKeys) ?? (raw['set'] === undefined ? 'cxl' : 'example'),
    service: text(raw, 'service'),
    share: shareOf(raw['share']),
    set: readChanges(raw['set']),
    option: whole(raw, 'option', 8),
    scale: oneOf(raw, 'scale', costScales),
    compare: text(raw, 'compare', 400),
  }
}
