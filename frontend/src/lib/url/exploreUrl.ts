import { readTimeSearch, type RawSearch, type TimeSearch } from './urlState'

/** A page has at most so many charts, and an expression so many characters (the API takes no more by GET). */
export const mostCharts = 12
const mostCharacters = 4000

/** Parameters of the explore page: PromQL expressions, a chart each. */
export interface ExploreSearch extends TimeSearch {
  expr?: string[] | undefined
}

/** The explore page's part of a URL; a link may name one expression as a plain text. */
export function readExploreSearch(raw: RawSearch): ExploreSearch {
  const given: unknown[] = Array.isArray(raw['expr']) ? raw['expr'] : [raw['expr']]
  const expr = given
    .filter((one): one is string | number => typeof one === 'string' || typeof one === 'number')
    .map((one) => `${one}`.trim())
    .filter((one) => one !== '' && one.length <= mostCharacters)
    .slice(0, mostCharts)
  return { ...readTimeSearch(raw), expr: expr.length === 0 ? undefined : expr }
}
