import { Button } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { alertRoutesQuery } from '../../../api/queries/alerts/routes'
import { loadStateOf } from '../../../api/queries/base/loadState'
import { Panel } from '../../../ui/layout/Panel'
import { Stack } from '../../../ui/layout/Stack'
import { EmptyState } from '../../../ui/states/EmptyState'
import { ProblemState } from '../../../ui/states/ProblemState'
import { Timestamp } from '../../../ui/text/Timestamp'
import { DeliveryLog } from './DeliveryLog'
import { ReceiversTable } from './ReceiversTable'
import { RoutesEditor } from './RoutesEditor'
import { RoutesTree } from './RoutesTree'
import { LoginFirst } from '../../shell/access/LoginFirst'

/** Who is told of which alerts, and what became of it. */
export function RoutesTab() {
  const [editing, setEditing] = useState(false)
  const query = useQuery({ ...alertRoutesQuery(), retry: false })
  const load = loadStateOf(query)
  const routing = query.data
  if (load.problem !== null && routing === undefined) {
    return <ProblemState problem={load.problem} onRetry={load.retry} />
  }
  if (editing && routing !== undefined) return <RoutesEditor routing={routing} onClose={() => setEditing(false)} />
  const edit = (
    <LoginFirst may="write:routes" to="edit" byRole>
      <Button variant="default" disabled={routing === undefined} onClick={() => setEditing(true)}>
        Edit
      </Button>
    </LoginFirst>
  )
  return (
    <Stack>
      <Panel
        title="Receivers"
        hint="secrets live in the service’s environment or files, never here"
        flush
        testId="receivers"
        actions={edit}
      >
        <ReceiversTable receivers={routing?.receivers} />
      </Panel>
      <Panel
        title="Routes"
        hint={
          routing === undefined || routing.updated_at === null ? (
            'the first match takes the alert unless it says continue'
          ) : (
            <>
              version {routing.version}, changed <Timestamp at={routing.updated_at} /> by {routing.updated_by}
            </>
          )
        }
        testId="routes"
        actions={edit}
      >
        {routing?.routes.length === 0 ? (
          <EmptyState
            title="No notifications configured"
            next="Add a receiver and a route to it. Alerts are shown here either way."
          />
        ) : (
          <RoutesTree routes={routing?.routes ?? []} inhibitions={routing?.inhibitions ?? []} />
        )}
      </Panel>
      <DeliveryLog />
    </Stack>
  )
}
