import { Link } from '@tanstack/react-router'
import type { Rule } from '../../api/_generated/schema'
import { formatCount } from '../../lib/units/units'
import classes from './AlertsPage.module.css'

/** How many subjects of a rule are in which state; those that fire lead to their alerts. */
export function StateCountsText({ rule }: { rule: Pick<Rule, 'id' | 'enabled' | 'state_counts' | 'evaluated_to'> }) {
  const { ok, pending, firing, no_data: silent } = rule.state_counts
  if (!rule.enabled) return <span>off</span>
  if (rule.evaluated_to === null) return <span>not evaluated yet</span>
  return (
    <span className={classes.counts}>
      {firing > 0 && (
        <Link to="/alerts" search={{ rule: rule.id, state: 'firing' }}>
          {formatCount(firing)} firing
        </Link>
      )}
      {pending > 0 && <span>{formatCount(pending)} pending</span>}
      {silent > 0 && <span>{formatCount(silent)} no data</span>}
      <span>{formatCount(ok)} ok</span>
    </span>
  )
}
