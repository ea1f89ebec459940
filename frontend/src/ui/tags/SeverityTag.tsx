import { IconAlertOctagon, IconAlertTriangle, IconInfoCircle } from '@tabler/icons-react'
import classes from './SeverityTag.module.css'

type Severity = 'info' | 'warning' | 'critical'

const icons = { info: IconInfoCircle, warning: IconAlertTriangle, critical: IconAlertOctagon }

/** A severity as icon and word; the colour only repeats what both say. */
export function SeverityTag({ severity }: { severity: Severity }) {
  const Icon = icons[severity]
  return (
    <span className={classes.tag} data-severity={severity}>
      <Icon size={14} aria-hidden />
      {severity}
    </span>
  )
}
