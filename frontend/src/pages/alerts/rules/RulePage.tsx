import { Button } from '@mantine/core'
import { IconCopy } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import type { Rule } from '../../../api/_generated/schema'
import { ruleQuery } from '../../../api/queries/alerts/rules'
import { loadStateOf } from '../../../api/queries/base/loadState'
import { formatDuration } from '../../../lib/units/time'
import { Headline } from '../../../ui/layout/Headline'
import { ProblemState } from '../../../ui/states/ProblemState'
import { SeverityTag } from '../../../ui/tags/SeverityTag'
import { StateCountsText } from '../StateCountsText'
import { RuleEditor } from './RuleEditor'
import { entryOfRule } from './ruleEntry'

const route = getRouteApi('/alerts/rules/$ruleId')

/** One rule: what it watches, what it would have done, and the fields to change it by. */
export function RulePage(): ReactNode {
  const { ruleId } = route.useParams()
  const query = useQuery(ruleQuery(ruleId))
  const load = loadStateOf(query)
  const rule = query.data
  if (load.problem !== null && rule === undefined) return <ProblemState problem={load.problem} onRetry={load.retry} />
  return (
    <div data-testid="page-rule">
      <Headline
        kicker={
          <>
            <Link to="/alerts" search={{ tab: 'rules' }}>
              Rules
            </Link>
            <span aria-hidden>/</span>
            <h1>{rule?.name ?? '…'}</h1>
            {rule !== undefined && (
              <>
                <SeverityTag severity={rule.severity} />
                <span>{rule.origin}</span>
                <StateCountsText rule={rule} />
              </>
            )}
          </>
        }
        sentence={rule === undefined ? undefined : sentenceOf(rule)}
        aside={
          <Button
            variant="default"
            leftSection={<IconCopy size={14} aria-hidden />}
            renderRoot={(props) => <Link {...props} to="/alerts/rules/new" search={{ copy: ruleId }} />}
          >
            Copy
          </Button>
        }
      />
      {rule !== undefined && (
        <RuleEditor key={rule.id} first={entryOfRule(rule)} ruleId={rule.id} shipped={rule.origin === 'shipped'} />
      )}
    </div>
  )
}

function sentenceOf(rule: Rule): string {
  const held = rule.for_seconds === 0 ? 'at once' : `after ${formatDuration(rule.for_seconds)}`
  const subject = rule.scope.kind === 'fleet' ? 'for the fleet as a whole' : `for each ${rule.scope.kind}`
  const judged = `A minute is judged ${formatDuration(rule.judged_after_seconds)} after its end.`
  return `Fires ${held} when ${rule.normal_form}, ${subject}. ${judged}`
}
