import type { TimeRange } from '../base/range'
import { rangedQuery } from '../base/ask'

/** Groups of peer hosts, hosts that differ from theirs, and changes of level. */
export function fleetStatisticsQuery(range: TimeRange) {
  return rangedQuery('/v1/fleet/statistics', {}, range)
}
