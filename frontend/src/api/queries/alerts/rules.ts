import { queryOptions } from '@tanstack/react-query'
import type { RuleRequest } from '../../_generated/schema'
import { client, dataOf } from '../../client'
import { askedQuery, changing, kept, polled, send } from '../base/ask'

/** All alert rules with how many subjects are in which state. */
export function rulesQuery(refreshMs: number | null) {
  return askedQuery('/v1/rules', {}, { ...kept, ...polled(refreshMs) })
}

/** One rule. */
export function ruleQuery(ruleId: string | undefined) {
  const options = { enabled: ruleId !== undefined, staleTime: 15_000 }
  return askedQuery('/v1/rules/{rule_id}', { rule_id: ruleId ?? '' }, options)
}

/** What conditions can name: series, functions, units. */
export function vocabularyQuery() {
  return askedQuery('/v1/rules/vocabulary', {}, { staleTime: Infinity })
}

/** All that is wrong with a rule, and how its condition is understood; nothing is stored. */
export function ruleCheckQuery(rule: RuleRequest | null) {
  return queryOptions({
    queryKey: ['rule-check', rule],
    queryFn: ({ signal }) => {
      if (rule === null) throw new Error('there is no rule to check')
      return send('post', '/v1/rules/check', {}, { rule }, signal)
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
      return send('post', '/v1/rules/backtest', {}, body, signal)
    },
    ...kept,
    enabled: rule !== null,
    staleTime: 60_000,
  })
}

/** Store a rule: a new one, or another in the place of `ruleId`. Throws ApiProblem. */
export const saveRule = changing(
  ['/v1/rules', '/v1/rules/{rule_id}'],
  ({ ruleId, rule }: { ruleId: string | undefined; rule: RuleRequest }) =>
    ruleId === undefined
      ? send('post', '/v1/rules', {}, rule)
      : send('put', '/v1/rules/{rule_id}', { rule_id: ruleId }, rule),
)

/** Remove a rule; its open alerts are resolved. Throws ApiProblem. */
export const deleteRule = changing(['/v1/rules'], (id: string) =>
  send('delete', '/v1/rules/{rule_id}', { rule_id: id }),
)

/** All rules as a file. Throws ApiProblem. */
export async function exportRules(format: 'yaml' | 'prometheus'): Promise<string> {
  const params = { query: { format } }
  return String(await dataOf(client.GET('/v1/rules/export', { params, parseAs: 'text' })))
}
