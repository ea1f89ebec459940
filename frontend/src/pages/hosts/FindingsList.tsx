import { Skeleton } from '@mantine/core'
import type { Finding } from '../../api/_generated/schema'
import { byUrgency } from '../../lib/fleet/findings'
import { EmptyState } from '../../ui/states/EmptyState'
import { SeverityTag } from '../../ui/tags/SeverityTag'
import { Prose } from '../../ui/text/Prose'
import { Timestamp } from '../../ui/text/Timestamp'
import classes from './FindingsList.module.css'

/** Findings with cause, fix and confidence, the most urgent first. */
export function FindingsList({ findings }: { findings: Finding[] | undefined }) {
  if (findings === undefined) return <Skeleton height={160} />
  if (findings.length === 0) return <EmptyState title="No findings" next="Nothing on this host needs fixing." />
  return (
    <ul className={classes.list} tabIndex={0} aria-label="Findings">
      {byUrgency(findings).map((finding) => (
        <li key={finding.id} className={classes.item} data-testid={`finding-${finding.id}`}>
          <div className={classes.head}>
            <SeverityTag severity={finding.severity} />
            <span className={classes.dimmed}>{finding.confidence}</span>
            {finding.since !== null && (
              <span className={classes.dimmed}>
                since <Timestamp at={finding.since} />
              </span>
            )}
          </div>
          <p className={classes.cause}>
            <Prose text={finding.cause} />
          </p>
          <p className={classes.fix}>
            <strong>Fix:</strong> <Prose text={finding.fix} />
          </p>
        </li>
      ))}
    </ul>
  )
}
