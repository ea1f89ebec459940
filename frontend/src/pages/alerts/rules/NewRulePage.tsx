import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { ruleQuery } from '../../../api/queries/alerts/rules'
import { loadStateOf } from '../../../api/queries/base/loadState'
import { Headline } from '../../../ui/layout/Headline'
import { ProblemState } from '../../../ui/states/ProblemState'
import { RuleEditor } from './RuleEditor'
import { blankRule, entryOfRule } from './ruleEntry'

const route = getRouteApi('/alerts/rules/new')

/** A new rule, or a copy of one that is there. */
export function NewRulePage(): ReactNode {
  const { copy } = route.useSearch()
  const query = useQuery(ruleQuery(copy))
  const load = loadStateOf(query)
  const source = query.data
  if (copy !== undefined && load.problem !== null) return <ProblemState problem={load.problem} onRetry={load.retry} />
  const first =
    source === undefined ? blankRule() : { ...entryOfRule(source), name: `${source.name} (copy)`, group: 'own' }
  return (
    <div data-testid="page-new-rule">
      <Headline
        kicker={
          <>
            <Link to="/alerts" search={{ tab: 'rules' }}>
              Rules
            </Link>
            <span aria-hidden>/</span>
            <h1>New</h1>
          </>
        }
        sentence="Write a condition; the chart below shows what the rule would have done."
      />
      {(copy === undefined || source !== undefined) && (
        <RuleEditor key={source?.id ?? 'new'} first={first} ruleId={undefined} shipped={false} />
      )}
    </div>
  )
}
