import { IconFilter } from '@tabler/icons-react'
import { useState } from 'react'
import type { HostDetail } from '../../../api/_generated/schema'
import { Panel } from '../../../ui/layout/Panel'
import { AgentPanel } from './AgentPanel'
import { CollectorsTable } from './CollectorsTable'
import { Stack } from '../../../ui/layout/Stack'
import { PurgePanel } from '../../purges/PurgePanel'
import { LabelsPanel } from '../labels/LabelsPanel'
import { KnobsTable } from './KnobsTable'
import { TextField } from '../../../ui/inputs/fields'

/** How the host is set up: its agent, what is collected and why not more, and the kernel's settings. */
export function SetupTab({ hostId, host }: { hostId: string; host: HostDetail | undefined }) {
  const [filter, setFilter] = useState('')
  const knobs = host?.knobs.filter((knob) => knob.path.toLowerCase().includes(filter.toLowerCase()))
  const off = host?.collectors.filter((collector) => !collector.active) ?? []
  const needRoot = off.filter((collector) =>
    /\broot\b|CAP_|privilege/i.test(`${collector.enable_hint ?? ''} ${collector.reason ?? ''}`),
  )
  return (
    <Stack>
      <AgentPanel hostId={hostId} host={host} />
      <LabelsPanel hostId={hostId} />
      <Panel
        title="Collectors"
        hint={
          host === undefined
            ? undefined
            : `${host.collectors.length - off.length} of ${host.collectors.length} on. ${needRoot.length === 0 ? 'More privilege would add nothing.' : `Root would add: ${needRoot.map((collector) => collector.name).join(', ')}.`}`
        }
        flush
        testId="collectors"
      >
        <CollectorsTable collectors={host?.collectors} />
      </Panel>
      <Panel
        title="Knobs"
        hint="current kernel settings"
        actions={
          <TextField
            aria-label="Filter knobs"
            placeholder="Filter by path"
            leftSection={<IconFilter size={14} />}
            value={filter}
            onText={setFilter}
          />
        }
        flush
        testId="knobs"
      >
        <KnobsTable knobs={knobs} />
      </Panel>
      {host !== undefined && (
        <PurgePanel
          subject={{ kind: 'host', id: hostId }}
          name={host.summary.name}
          consequence="its credential is revoked and all its data is deleted permanently"
        />
      )}
    </Stack>
  )
}
