import { Button } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { loadStateOf } from '../../api/queries/base/loadState'
import { newHostsQuery } from '../../api/queries/fleet/newHosts'
import { labelsText, readLabels } from '../../lib/fleet/labels'
import { countOf } from '../../lib/units/units'
import { Panel } from '../../ui/layout/Panel'
import { EmptyState } from '../../ui/states/EmptyState'
import { Loading } from '../../ui/layout/Loading'
import { ProblemState } from '../../ui/states/ProblemState'
import { useSession } from '../shell/access/useSession'
import classes from './AddHosts.module.css'
import { HostStart } from './HostStart'

const route = getRouteApi('/add-hosts')

/** Each host asks for its own answers, so that only the newest are watched. */
const mostHosts = 10

/** The hosts of the last hour, each with what it has sent so far. */
export function NewHostsPanel() {
  const { labels: typed = '' } = route.useSearch()
  const navigate = route.useNavigate()
  const { may } = useSession()
  const read = readLabels(typed)
  const labels = typeof read === 'string' ? {} : read
  const pairs = Object.entries(labels).map(([key, value]) => `${key}=${value}`)
  const query = useQuery({ ...newHostsQuery(pairs), enabled: may('read:fleet') })
  const load = loadStateOf(query)
  if (!may('read:fleet')) return null
  const hosts = [...(query.data?.items ?? [])].sort((a, b) => b.enrolled_at.localeCompare(a.enrolled_at))
  const clear = () =>
    void navigate({ search: (before) => ({ ...before, labels: undefined }), replace: true, resetScroll: false })
  const hint =
    hosts.length > mostHosts
      ? `the newest ${mostHosts} of ${countOf(hosts.length, 'host')}; asked again every 15 s`
      : 'asked again every 15 s'
  return (
    <Panel
      title={pairs.length === 0 ? 'Enrolled in the last hour' : `Enrolled in the last hour with ${labelsText(labels)}`}
      hint={hint}
      testId="new-hosts"
      actions={
        pairs.length > 0 && (
          <Button variant="default" onClick={clear}>
            Show all labels
          </Button>
        )
      }
    >
      {query.data === undefined && load.problem === null && <Loading height={120} />}
      {query.data === undefined && load.problem !== null && (
        <ProblemState problem={load.problem} onRetry={load.retry} />
      )}
      {query.data !== undefined && hosts.length === 0 && (
        <EmptyState title="Waiting for the first host" next="It appears here seconds after its agent has started." />
      )}
      <ul className={classes.hosts}>
        {hosts.slice(0, mostHosts).map((host) => (
          <HostStart key={host.id} host={host} />
        ))}
      </ul>
    </Panel>
  )
}
