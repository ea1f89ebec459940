import type { TimeRange } from '../base/range'
import { rangedQuery } from '../base/ask'

/** Hosts that one page of the data-quality list holds. */
const qualityPageSize = 100

/** What arrived, what is missing and why: the fleet, and the hosts that miss most from `cursor` on. */
export function dataQualityQuery(range: TimeRange, cursor: string | undefined) {
  return rangedQuery('/v1/data-quality', { limit: qualityPageSize, cursor }, range)
}
