import { queryOptions } from '@tanstack/react-query'
import { resolveRange } from '../../lib/url/timeRange'
import { refreshing, type TimeRange } from './base/range'
import { ask, askedQuery, kept } from './base/ask'

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
    queryKey: ['/prometheus/api/v1/query_range', expression, range.from, range.to],
    queryFn: async ({ signal }) => {
      const steps = stepsOf(range, Date.now() / 1000)
      const query = { query: expression, start: `${steps.start}`, end: `${steps.end}`, step: `${steps.step}` }
      return { steps, answer: await ask('/prometheus/api/v1/query_range', query, signal) }
    },
    ...kept,
    ...refreshing(range),
  })
}

/** Names of all metrics: the service's own, and those that Prometheus wrote here. */
export function metricNamesQuery() {
  return askedQuery('/prometheus/api/v1/label/{name}/values', { name: '__name__' }, { staleTime: 300_000 })
}
