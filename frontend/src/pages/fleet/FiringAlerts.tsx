import { Skeleton } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { alertsQuery } from '../../api/queries/alerts/alerts'
import { ToneTag } from '../../ui/tags/ToneTag'

/** How many alerts fire, the gravest named; leads to them. */
export function FiringAlerts({ refreshMs }: { refreshMs: number | null }) {
  const { data, isError } = useQuery(alertsQuery('firing', {}, refreshMs))
  if (isError) return <ToneTag tone="neutral" label="alerts not known" />
  if (data === undefined) return <Skeleton width={120} height={20} />
  const all = data.items.length
  const critical = data.items.filter(({ severity }) => severity === 'critical').length
  const grave = critical === 0 ? '' : `, ${critical} critical`
  return (
    <Link to="/alerts" data-testid="firing-alerts">
      <ToneTag
        tone={critical > 0 ? 'critical' : all > 0 ? 'warning' : 'good'}
        label={all === 0 ? 'no alert fires' : `${all} alert${all === 1 ? ' fires' : 's fire'}${grave}`}
      />
    </Link>
  )
}
