/** What the URL carries of the capacity page. */
import { readChanges, type UrlChanges } from '../tco/scenarioSpec'
import { oneOf, readTimeSearch, text, type RawSearch, type TimeSearch } from './urlState'

export const capacityTabs = ['subjects', 'plan', 'reports'] as const
export const capacityMetrics = ['resident', 'hot', 'dram_need'] as const
export const capacityHorizons = [30, 90, 180, 365] as const

/** Parameters of the capacity page. */
export interface CapacitySearch extends TimeSearch {
  tab?: (typeof capacityTabs)[number] | undefined
  group?: string | undefined
  subject?: string | undefined
  metric?: (typeof capacityMetrics)[number] | undefined
  horizon?: (typeof capacityHorizons)[number] | undefined
  sort?: string | undefined
  /** What differs from the plan that the page starts with, by path. */
  plan?: UrlChanges | undefined
}

/** The capacity page's part of a URL. */
export function readCapacitySearch(raw: RawSearch): CapacitySearch {
  return {
    ...readTimeSearch(raw),
    tab: oneOf(raw, 'tab', capacityTabs),
    group: text(raw, 'group', 140),
    subject: text(raw, 'subject'),
    metric: oneOf(raw, 'metric', capacityMetrics),
    horizon: capacityHorizons.find((days) => days === Number(raw['horizon'])),
    sort: text(raw, 'sort', 40),
    plan: readChanges(raw['plan']),
  }
}
