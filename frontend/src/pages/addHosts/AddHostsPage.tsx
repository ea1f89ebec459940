import { Tabs } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { useState, type ReactNode } from 'react'
import { createJoinToken, createToken } from '../../api/queries/access/tokens'
import { statusQuery } from '../../api/queries/operate/status'
import { labelsText } from '../../lib/fleet/labels'
import { offeredServer, readServer } from '../../lib/fleet/serverAddress'
import { installWays } from '../../lib/url/addHostsUrl'
import { Headline } from '../../ui/layout/Headline'
import { Panel } from '../../ui/layout/Panel'
import { Stack } from '../../ui/layout/Stack'
import { EmptyState } from '../../ui/states/EmptyState'
import classes from './AddHosts.module.css'
import { installSteps, tokenPlaceholder } from './installSteps'
import { InstallSteps } from './InstallSteps'
import { JoinTokenPanel } from './JoinTokenPanel'
import { NewHostsPanel } from './NewHostsPanel'
import { ServerField } from './ServerField'
import { UnreadPanel } from './UnreadPanel'
import { WriteTokenPanel } from './WriteTokenPanel'
import { TextField } from '../../ui/inputs/fields'

const route = getRouteApi('/add-hosts')

const wayLabels = {
  systemd: 'systemd',
  deb: 'Debian package',
  kubernetes: 'Kubernetes',
  ansible: 'Ansible',
  prometheus: 'Prometheus',
} as const

/** How hosts are added, each way complete to copy, and what the new ones have sent so far. */
export function AddHostsPage(): ReactNode {
  const { how = 'systemd' } = route.useSearch()
  const navigate = route.useNavigate()
  const queries = useQueryClient()
  const status = useQuery(statusQuery())
  const joining = useMutation(createJoinToken(queries))
  const writing = useMutation(createToken(queries))
  const [typedServer, setTypedServer] = useState<string | null>(null)
  const [typedPrograms, setTypedPrograms] = useState('')
  const shown = typedServer ?? offeredServer(window.location.origin, status.data?.public_url)
  const server = readServer(shown)
  const programs = typedPrograms
    .split(',')
    .map((program) => program.trim())
    .filter((program) => program !== '')
  const token = (how === 'prometheus' ? writing : joining).data?.token ?? tokenPlaceholder
  const setHow = (next: string | null) =>
    void navigate({
      search: (before) => ({ ...before, how: installWays.find((way) => way === next) }),
      replace: true,
      resetScroll: false,
    })
  const listLabels = (labels: Record<string, string>) =>
    void navigate({
      search: (before) => ({
        ...before,
        labels: Object.keys(labels).length === 0 ? undefined : labelsText(labels),
      }),
      replace: true,
      resetScroll: false,
    })
  return (
    <div data-testid="page-add-hosts">
      <Headline
        kicker={<h1>Add hosts</h1>}
        sentence="Install the agent, enrol it with a join token, and watch its first data arrive."
      />
      <Tabs value={how} onChange={setHow} keepMounted={false}>
        <Tabs.List mb="sm">
          {installWays.map((way) => (
            <Tabs.Tab key={way} value={way}>
              {wayLabels[way]}
            </Tabs.Tab>
          ))}
        </Tabs.List>
      </Tabs>
      <Stack>
        {how === 'prometheus' ? (
          <WriteTokenPanel making={writing} />
        ) : (
          <JoinTokenPanel making={joining} onMade={listLabels} />
        )}
        <Panel title={`Install: ${wayLabels[how]}`} testId="install">
          <div className={classes.inputs}>
            <ServerField typed={shown} server={server} pageHost={window.location.hostname} onChange={setTypedServer} />
            {how !== 'prometheus' && (
              <TextField
                label="Programs whose heat is measured (optional)"
                description="Names or paths, with commas between. Without them counters alone are collected."
                placeholder="redis-server, */nginx"
                inputWrapperOrder={['label', 'input', 'description', 'error']}
                value={typedPrograms}
                onText={setTypedPrograms}
              />
            )}
          </div>
          {typeof server === 'string' ? (
            <EmptyState title="No commands yet" next="They need an address of this service that hosts can reach." />
          ) : (
            <InstallSteps steps={installSteps(how, { server, token, programs })} />
          )}
        </Panel>
        <NewHostsPanel />
        <UnreadPanel unread={status.data?.unread ?? []} />
      </Stack>
    </div>
  )
}
