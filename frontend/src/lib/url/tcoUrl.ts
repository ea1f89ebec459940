/** What the URL carries of the TCO page. */
import { readChanges, type UrlChanges } from '../tco/scenarioSpec'
import { oneOf, readTimeSearch, text, whole, type RawSearch, type TimeSearch } from './urlState'

export const costScales = ['host', 'fleet'] as const

/** Parameters of the TCO page. */
export interface TcoSearch extends TimeSearch {
  /** What differs from the scenario that the page started from, by path. */
  set?: UrlChanges | undefined
  /** Position of the option that charts show, counted from 1. */
  option?: number | undefined
  scale?: (typeof costScales)[number] | undefined
  /** Ids of stored scenarios to set beside each other, joined by commas. */
  compare?: string | undefined
}

/** The TCO page's part of a URL. */
export function readTcoSearch(raw: RawSearch): TcoSearch {
  return {
    ...readTimeSearch(raw),
    set: readChanges(raw['set']),
    option: whole(raw, 'option', 8),
    scale: oneOf(raw, 'scale', costScales),
    compare: text(raw, 'compare', 400),
  }
}
