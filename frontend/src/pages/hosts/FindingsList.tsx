import { Skeleton } from '@mantine/core'
import type { HostKnobAdvice, HostSummary } from '../../api/_generated/schema'
import { sufferingsOf } from '../../lib/fleet/causes'
import { byUrgency } from '../../lib/fleet/findings'
import { EmptyState } from '../../ui/states/EmptyState'
import { SeverityTag } from '../../ui/tags/SeverityTag'
import { ToneTag } from '../../ui/tags/ToneTag'
import { Prose } from '../../ui/text/Prose'
import { Timestamp } from '../../ui/text/Timestamp'
import classes from './FindingsList.module.css'
import { HostLink } from '../shell/links'

interface FindingsListProps {
  host: HostSummary | undefined
  /** Advice on its settings; null where it cannot be had. */
  advice: HostKnobAdvice['advice'] | null | undefined
}

/**
 * What is wrong with a host and what to do, the gravest first: its state, verdict and settings, findings with cause, fix
 * and confidence, then advice on settings in the order in which to try it.
 */
export function FindingsList({ host, advice }: FindingsListProps) {
  if (host === undefined || advice === undefined) return <Skeleton height={160} />
  const sufferings = sufferingsOf(host)
  const [first] = advice ?? []
  if (sufferings.length + host.findings.length === 0 && first === undefined) {
    const next =
      advice === null
        ? 'Advice on its settings cannot be had now, so nothing says that all is well.'
        : host.verdict === 'not_known'
          ? 'Whether its accesses are slow is not known, so nothing says that all is well.'
          : 'Nothing on this host needs fixing.'
    return <EmptyState title="No findings" next={next} />
  }
  return (
    <ol className={classes.list} tabIndex={0} aria-label="What is wrong, do this">
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
                {host.agent_version === null ? 'see what reports it' : 'see its agent'}
              </HostLink>
            ) : (
              <HostLink id={host.id} tab="advice">
                {first === undefined ? 'see the advice for its settings' : first.title}
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
      {/* What helps against a verdict stands beside it already. */}
      {advice?.slice(sufferings.some(({ kind }) => kind !== 'state') ? 1 : 0).map(({ rule, title, effect }) => (
        <li key={rule} className={classes.item} data-testid={`advised-${rule}`}>
          <div className={classes.head}>
            <SeverityTag severity="info" />
          </div>
          <p className={classes.cause}>
            <Prose text={effect} />
          </p>
          <p className={classes.fix}>
            <strong>Do this:</strong>{' '}
            <HostLink id={host.id} tab="advice">
              {title}
            </HostLink>
          </p>
        </li>
      ))}
    </ol>
  )
}
