import type { Alert, Incident } from '../../../api/_generated/schema'
import { formatDuration } from '../../../lib/units/time'
import { Prose } from '../../../ui/text/Prose'
import { Timestamp } from '../../../ui/text/Timestamp'
import classes from './Incident.module.css'

/** The moments of an alert with the time that passed between them. */
function momentsOf(alert: Alert, onset: Incident['onset'] | undefined): { label: string; at: string; after: string }[] {
  const named: [string, string | null][] = [
    ['Condition held', onset?.held_at ?? null],
    ['pending', onset === undefined ? alert.started_at : onset.pending_at],
    ['fired', alert.fired_at],
    ['resolved', alert.resolved_at],
  ]
  const known = named.flatMap(([label, at]) => (at === null ? [] : [{ label, at }]))
  return known.map(({ label, at }, index) => {
    const before = known[index - 1]
    const waited = before === undefined ? 0 : (Date.parse(at) - Date.parse(before.at)) / 1000
    return { label, at, after: waited === 0 ? '' : `${formatDuration(waited)} later` }
  })
}

/** When the condition began to hold, when the alert was pending, fired and was resolved, and why these differ. */
export function OnsetStrip({ alert, onset }: { alert: Alert; onset: Incident['onset'] | undefined }) {
  return (
    <section aria-label="When it happened" data-testid="incident-onset">
      <ol className={classes.moments}>
        {momentsOf(alert, onset).map(({ label, at, after }) => (
          <li key={label}>
            <span>{label}</span> <Timestamp at={at} /> {after !== '' && <span>({after})</span>}
          </li>
        ))}
      </ol>
      {onset !== undefined && onset.why.length > 0 && (
        <p className={classes.why}>
          <Prose text={onset.why.join(' ')} />
        </p>
      )}
    </section>
  )
}
