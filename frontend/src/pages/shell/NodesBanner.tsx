import { IconServerOff } from '@tabler/icons-react'
import type { InstallationStatus } from '../../api/_generated/schema'
import { formatClock } from '../../lib/units/time'
import classes from './access/LoginNotice.module.css'

/** Says over the page that some database nodes are away, so that what is shown leaves out their hosts. */
export function NodesBanner({ status }: { status: InstallationStatus | undefined }) {
  const nodes = status?.components.find((component) => component.name === 'nodes')
  if (nodes === undefined || nodes.status === 'healthy') return null
  return (
    <div className={classes.notice} role="alert" data-testid="nodes-banner">
      <IconServerOff size={15} aria-hidden />
      <span>
        <strong>Figures leave out hosts:</strong> {nodes.detail}
        {nodes.since === null ? '.' : ` since ${formatClock(new Date(nodes.since))}.`}
      </span>
    </div>
  )
}
