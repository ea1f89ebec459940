import { client } from '../../client'
import { rangeQuery, type TimeRange } from '../base/range'
import { rangedQuery } from '../base/ask'

/** Groups of peer hosts, hosts that differ from theirs, and changes of level. */
export function fleetStatisticsQuery(range: TimeRange) {
  return rangedQuery(['fleet-statistics', range.from, range.to], range, (signal) =>
    client.GET('/v1/fleet/statistics', { params: { query: rangeQuery(range) }, signal }),
  )
}
