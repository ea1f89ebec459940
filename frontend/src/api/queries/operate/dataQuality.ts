import { keepPreviousData, queryOptions } from '@tanstack/react-query'
import { client, dataOf } from '../../client'
import { rangeQuery, refreshing, type TimeRange } from '../base/range'

/** Hosts that one page of the data-quality list holds. */
const qualityPageSize = 100

/** What arrived, what is missing and why: the fleet, and the hosts that miss most from `cursor` on. */
export function dataQualityQuery(range: TimeRange, cursor: string | undefined) {
  return queryOptions({
    queryKey: ['data-quality', range.from, range.to, cursor],
    queryFn: ({ signal }) =>
      dataOf(
        client.GET('/v1/data-quality', {
          params: { query: { ...rangeQuery(range), limit: qualityPageSize, cursor: cursor ?? null } },
          signal,
        }),
      ),
    placeholderData: keepPreviousData,
    ...refreshing(range),
  })
}
