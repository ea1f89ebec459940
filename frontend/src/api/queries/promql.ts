import { queryOptions } from '@tanstack/react-query'
import type { QueryAnswer } from '../_generated/schema'
import { resolveRange } from '../../lib/url/timeRange'
import { client, dataOf } from '../client'
import { refreshing, type TimeRange } from './base/range'
import { askedQuery, kept } from './base/ask'

/** Steps that a chart has at most, and the shortest one in seconds: agents report once a minute. */
const mostSteps = 300
const leastStep = 60

/** The steps of a range: whole multiples of a minute, so that the next question asks for the same moments. */
function stepsOf({ from, to }: TimeRange, nowSeconds: number) {
  const { start, end } = resolveRange(from, to, nowSeconds)
  const step = leastStep * Math.max(1, Math.ceil((end - start) / mostSteps / leastStep))
  return { start: Math.ceil(start / step) * step, end: Math.floor(end / step) * step, step }
}

/** The series that a PromQL expression has over a range, and the steps that were asked for. */
export function expressionQuery(expression: string, range: TimeRange) {
  return queryOptions({
    queryKey: ['promql', expression, range.from, range.to],
    queryFn: async ({ signal }) => {
      const steps = stepsOf(range, Date.now() / 1000)
      const query = { query: expression, start: `${steps.start}`, end: `${steps.end}`, step: `${steps.step}` }
      const answer = await dataOf(client.GET('/prometheus/api/v1/query_range', { params: { query }, signal }))
      // The client's types lose that a sample is a pair.
      return { steps, answer: answer as QueryAnswer }
    },
    ...kept,
    ...refreshing(range),
  })
}

/** Names of all metrics: the service's own, and those that Prometheus wrote here. */
export function metricNamesQuery() {
  return askedQuery(
    ['promql-names'],
    (signal) =>
      client.GET('/prometheus/api/v1/label/{name}/values', { params: { path: { name: '__name__' } }, signal }),
    { staleTime: 300_000 },
  )
}
