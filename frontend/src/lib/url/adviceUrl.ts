/** What the URL carries of the advice page. */
import { oneOf, readTimeSearch, text, type RawSearch, type TimeSearch } from './urlState'

export const adviceTabs = ['cards', 'plan', 'drift'] as const
const adviceKinds = ['ratio', 'knob'] as const
const adviceStatuses = ['open', 'adopted', 'dismissed', 'gone'] as const

/** Parameters of the advice page. */
export interface AdviceSearch extends TimeSearch {
  tab?: (typeof adviceTabs)[number] | undefined
  kind?: (typeof adviceKinds)[number] | undefined
  status?: (typeof adviceStatuses)[number] | undefined
  /** The change of the plan that is shown in full. */
  change?: string | undefined
  /** Changes picked for a bundle, joined by commas. */
  pick?: string | undefined
  /** Hosts left out of it, joined by commas. */
  without?: string | undefined
}

/** The advice page's part of a URL. */
export function readAdviceSearch(raw: RawSearch): AdviceSearch {
  return {
    ...readTimeSearch(raw),
    tab: oneOf(raw, 'tab', adviceTabs),
    kind: oneOf(raw, 'kind', adviceKinds),
    status: oneOf(raw, 'status', adviceStatuses),
    change: text(raw, 'change', 200),
    pick: text(raw, 'pick', 4000),
    without: text(raw, 'without', 20_000),
  }
}

/** The ids of a list in the URL, each once. */
export function readIds(list: string | undefined): string[] {
  return [...new Set((list ?? '').split(',').filter((id) => id !== ''))]
}

/** The list with an id taken in or out; undefined where it is empty. */
export function toggleId(list: string | undefined, id: string): string | undefined {
  const ids = readIds(list)
  const next = ids.includes(id) ? ids.filter((found) => found !== id) : [...ids, id]
  return next.length === 0 ? undefined : next.join(',')
}
