import { Skeleton } from '@mantine/core'
import type { Alert, Incident } from '../../../api/_generated/schema'
import { readableId } from '../../../lib/text/names'
import { verdictText } from '../../../lib/text/verdicts'
import { formatWindow } from '../../../lib/units/time'
import { formatQuantity } from '../../../lib/units/units'
import { Panel } from '../../../ui/layout/Panel'
import { VerdictTag } from '../../../ui/tags/VerdictTag'
import { Prose } from '../../../ui/text/Prose'
import classes from './Incident.module.css'
import { HostLink } from '../../shell/links'

/** What the rule watches, and the verdict on the worst host while the condition held, with the numbers that decided. */
export function CausePanel({ alert, incident }: { alert: Alert; incident: Incident | undefined }) {
  const cause = incident?.cause
  const verdict = cause === undefined ? undefined : verdictText(cause.verdict)
  const runnerUp = cause?.runner_up ?? null
  // A verdict that finds nothing wrong, or nothing at all, is not the cause: what the rule watches comes first.
  const quiet = verdict?.tone === 'good' || verdict?.tone === 'neutral'
  const watched = alert.description !== '' && (
    <p className={classes.text}>
      <strong>{alert.rule_name}:</strong> <Prose text={alert.description} />
    </p>
  )
  return (
    <Panel
      title="Cause"
      hint={
        incident === undefined
          ? undefined
          : formatWindow(new Date(incident.judged.start), new Date(incident.judged.end))
      }
      testId="incident-cause"
    >
      {quiet && watched}
      {cause === undefined || verdict === undefined ? (
        <Skeleton height={72} />
      ) : (
        <>
          <p className={classes.text}>
            <VerdictTag verdict={cause.verdict} window={incident?.judged} />
            {cause.host_id !== null && alert.subject.id !== cause.host_id && (
              <>
                {' on '}
                <HostLink id={cause.host_id} tab="moves">
                  {cause.host_name}
                </HostLink>
              </>
            )}
          </p>
          <p className={classes.text}>
            <Prose text={cause.explanation} />
          </p>
          {cause.evidence.length > 0 && (
            <ul className={classes.evidence} aria-label="Evidence">
              {cause.evidence.map((sign) => (
                <li key={sign.name}>
                  {readableId(sign.name)} <strong>{formatQuantity(sign.value, sign.unit)}</strong>
                </li>
              ))}
            </ul>
          )}
          {runnerUp !== null && (
            <p className={classes.why}>
              Next most likely: {verdictText(runnerUp).label}
              {cause.against.length > 0 &&
                ` (${cause.against.map(({ name, value, unit }) => `${readableId(name).toLowerCase()} ${formatQuantity(value, unit)}`).join(', ')})`}
              .
            </p>
          )}
        </>
      )}
      {!quiet && watched}
    </Panel>
  )
}
