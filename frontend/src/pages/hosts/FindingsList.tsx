import { Skeleton } from '@mantine/core'
import type { HostSummary } from '../../api/_generated/schema'
import { sufferingsOf } from '../../lib/fleet/causes'
import { byUrgency } from '../../lib/fleet/findings'
import { EmptyState } from '../../ui/states/EmptyState'
import { SeverityTag } from '../../ui/tags/SeverityTag'
import { ToneTag } from '../../ui/tags/ToneTag'
import { Prose } from '../../ui/text/Prose'
import { Timestamp } from '../../ui/text/Timestamp'
import classes from './FindingsList.module.css'
import { HostLink } from '../shell/links'

/** What is wrong with a host: its state, verdict and settings, then findings with cause, fix and confidence. */
export function FindingsList({ host }: { host: HostSummary | undefined }) {
  if (host === undefined) return <Skeleton height={160} />
  const sufferings = sufferingsOf(host)
  if (sufferings.length + host.findings.length === 0) {
    const next =
      host.verdict === 'not_known'
        ? 'Whether its accesses are slow is not known, so nothing says that all is well.'
        : 'Nothing on this host needs fixing.'
    return <EmptyState title="No findings" next={next} />
  }
  return (
    <ul className={classes.list} tabIndex={0} aria-label="Findings">
      {sufferings.map(({ kind, key, tone, label, meaning }) => (
        <li key={key} className={classes.item} data-testid={`suffering-${key}`}>
          <div className={classes.head}>
            <ToneTag tone={tone} label={label} />
          </div>
          <p className={classes.cause}>{meaning}</p>
          <p className={classes.fix}>
            <strong>Do this:</strong>{' '}
            {kind === 'state' ? (
              <HostLink id={host.id} tab="setup">
                see its agent
              </HostLink>
            ) : (
              <HostLink id={host.id} tab="advice">
                see the advice for its settings
              </HostLink>
            )}
          </p>
        </li>
      ))}
      {byUrgency(host.findings).map((finding) => (
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
