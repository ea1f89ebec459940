import type { AlertRouteOutput, Inhibition } from '../../../api/_generated/schema'
import { matchersText } from '../../../lib/alerts'
import { formatDuration } from '../../../lib/units/time'
import classes from './RoutesTree.module.css'

function terms(route: AlertRouteOutput): string[] {
  const parts: (string | null)[] = [
    route.group_by === null || route.group_by === undefined ? null : `grouped by ${route.group_by.join(', ')}`,
    route.group_wait_seconds == null ? null : `group wait ${formatDuration(route.group_wait_seconds)}`,
    route.group_interval_seconds == null ? null : `group interval ${formatDuration(route.group_interval_seconds)}`,
    route.repeat_interval_seconds == null ? null : `repeat interval ${formatDuration(route.repeat_interval_seconds)}`,
    route.continue === true ? 'continue' : null,
  ]
  return parts.filter((part) => part !== null)
}

/** Routes as they are tried, those within others indented, and what holds what back. */
export function RoutesTree({ routes, inhibitions }: { routes: AlertRouteOutput[]; inhibitions: Inhibition[] }) {
  return (
    <>
      <Level routes={routes} />
      {inhibitions.length > 0 && (
        <ul className={classes.inhibitions} aria-label="Inhibitions">
          {inhibitions.map((inhibition, index) => (
            <li key={index}>
              <code>{matchersText(inhibition.target_matchers)}</code> is inhibited while{' '}
              <code>{matchersText(inhibition.source_matchers)}</code> fires
              {(inhibition.equal ?? []).length > 0 && ` with the same ${(inhibition.equal ?? []).join(', ')}`}
            </li>
          ))}
        </ul>
      )}
    </>
  )
}

function Level({ routes }: { routes: AlertRouteOutput[] }) {
  return (
    <ol className={classes.level}>
      {routes.map((route, index) => (
        <li key={index}>
          <span className={classes.route}>
            <code>{(route.matchers ?? []).length === 0 ? 'every alert' : matchersText(route.matchers ?? [])}</code>
            <span aria-hidden>→</span>
            <strong>{route.receiver ?? 'inherited'}</strong>
            <span className={classes.terms}>{terms(route).join(' · ')}</span>
          </span>
          {(route.routes ?? []).length > 0 && <Level routes={route.routes ?? []} />}
        </li>
      ))}
    </ol>
  )
}
