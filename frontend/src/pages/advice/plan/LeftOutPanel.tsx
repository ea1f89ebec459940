import type { LeftOut } from '../../../api/_generated/schema'
import { Panel } from '../../../ui/layout/Panel'
import { Prose } from '../../../ui/text/Prose'
import classes from './ChangePlan.module.css'

const mostShown = 12

/** Changes that are not in the plan, and why. */
export function LeftOutPanel({ left }: { left: LeftOut[] | undefined }) {
  if (left === undefined || left.length === 0) return null
  return (
    <Panel title="Left out" hint="advice that the plan does not hold" testId="plan-left-out">
      <ul className={classes.left}>
        {left.slice(0, mostShown).map(({ host_id: hostId, name, path, why }) => (
          <li key={`${hostId} ${path}`}>
            {name}, <code>{path}</code>: <Prose text={why} />
          </li>
        ))}
        {left.length > mostShown && <li>and {left.length - mostShown} more</li>}
      </ul>
    </Panel>
  )
}
