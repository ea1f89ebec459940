import { queryOptions, type QueryClient } from '@tanstack/react-query'
import type { RuleRequest } from '../../_generated/schema'
import { client, dataOf, doneBy } from '../../client'
import { askedQuery, kept, polledQuery } from '../base/ask'

/** All alert rules with how many subjects are in which state. */
export function rulesQuery(refreshMs: number | null) {
  return polledQuery(['rules'], refreshMs, (signal) => client.GET('/v1/rules', { signal }), kept)
}

/** One rule. */
export function ruleQuery(ruleId: string | undefined) {
  return askedQuery(
    ['rule', ruleId],
    (signal) => client.GET('/v1/rules/{rule_id}', { params: { path: { rule_id: ruleId ?? '' } }, signal }),
    { enabled: ruleId !== undefined, staleTime: 15_000 },
  )
}

/** What conditions can name: series, functions, units. */
export function vocabularyQuery() {
  return askedQuery(['rule-vocabulary'], (signal) => client.GET('/v1/rules/vocabulary', { signal }), {
    staleTime: Infinity,
  })
}

/** All that is wrong with a rule, and how its condition is understood; nothing is stored. */
export function ruleCheckQuery(rule: RuleRequest | null) {
  return queryOptions({
    queryKey: ['rule-check', rule],
    queryFn: ({ signal }) => {
      if (rule === null) throw new Error('there is no rule to check')
      return dataOf(client.POST('/v1/rules/check', { body: { rule }, signal }))
    },
    ...kept,
    enabled: rule !== null,
    staleTime: Infinity,
  })
}

/** As live evaluation sees it, at most as many points and subjects as a chart and its list show. */
const backtestTerms = { late_data: 'as_live', max_points: 500, max_subjects: 20 } as const

/** What a rule would have done on stored history. `range` is made of moments. */
export function backtestQuery(rule: RuleRequest | null, range: { from: string; to: string }) {
  return queryOptions({
    queryKey: ['backtest', rule, range],
    queryFn: ({ signal }) => {
      if (rule === null) throw new Error('there is no rule to test')
      const body = { rule, ...range, ...backtestTerms, hosts: [], services: [] }
      return dataOf(client.POST('/v1/rules/backtest', { body, signal }))
    },
    ...kept,
    enabled: rule !== null,
    staleTime: 60_000,
  })
}

/** Store a rule: a new one, or another in the place of `ruleId`. Throws ApiProblem. */
export function saveRule(queries: QueryClient) {
  return {
    mutationFn: ({ ruleId, rule }: { ruleId: string | undefined; rule: RuleRequest }) =>
      dataOf(
        ruleId === undefined
          ? client.POST('/v1/rules', { body: rule })
          : client.PUT('/v1/rules/{rule_id}', { params: { path: { rule_id: ruleId } }, body: rule }),
      ),
    onSuccess: async (rule: { id: string }) => {
      await queries.invalidateQueries({ queryKey: ['rules'] })
      await queries.invalidateQueries({ queryKey: ['rule', rule.id] })
    },
  }
}

/** Remove a rule; its open alerts are resolved. Throws ApiProblem. */
export function deleteRule(queries: QueryClient) {
  return {
    mutationFn: (ruleId: string) =>
      doneBy(client.DELETE('/v1/rules/{rule_id}', { params: { path: { rule_id: ruleId } } })),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['rules'] }),
  }
}

/** All rules as a file. Throws ApiProblem. */
export async function exportRules(format: 'yaml' | 'prometheus'): Promise<string> {
  const params = { query: { format } }
  return String(await dataOf(client.GET('/v1/rules/export', { params, parseAs: 'text' })))
}
