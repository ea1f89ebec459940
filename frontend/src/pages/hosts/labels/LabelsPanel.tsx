import { Button } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { HostLabel, HostLabels } from '../../../api/_generated/schema'
import { problemText } from '../../../api/problem'
import { loadStateOf } from '../../../api/queries/base/loadState'
import { hostLabelsQuery, setHostLabels } from '../../../api/queries/fleet/labels'
import { readLabels } from '../../../lib/fleet/labels'
import { FieldGrid } from '../../../ui/inputs/FieldGrid'
import { Panel } from '../../../ui/layout/Panel'
import { Fault } from '../../../ui/states/Fault'
import { ProblemState } from '../../../ui/states/ProblemState'
import type { Column } from '../../../ui/tables/column'
import { DataTable } from '../../../ui/tables/DataTable'
import { useSession } from '../../shell/access/useSession'
import { TextAreaField } from '../../../ui/inputs/fields'

const sources = {
  join_token: 'join token',
  service: 'set here',
  agent: 'its agent',
  kubernetes: 'Kubernetes',
} as const

const columns: Column<HostLabel>[] = [
  { key: 'key', header: 'Label', cell: (row) => <code>{row.key}</code> },
  { key: 'value', header: 'Value', cell: (row) => <code>{row.value}</code> },
  { key: 'source', header: 'From', cell: (row) => sources[row.source] },
  {
    key: 'hidden',
    header: 'Overrides',
    cell: (row) => row.hidden.map(({ source, value }) => `${sources[source]}: ${value}`).join(', ') || '–',
  },
]

/** The labels of a host with where they come from; operators set their own over those of agent and cluster. */
export function LabelsPanel({ hostId }: { hostId: string }) {
  const { may } = useSession()
  const query = useQuery(hostLabelsQuery(hostId))
  const load = loadStateOf(query)
  const [editing, setEditing] = useState(false)
  const found = query.data
  return (
    <Panel
      title="Labels"
      hint="precedence: join token, this service, agent, Kubernetes"
      flush={!editing}
      testId="labels"
      actions={
        may('write:labels') &&
        !editing && (
          <Button variant="default" disabled={found === undefined} onClick={() => setEditing(true)}>
            Edit
          </Button>
        )
      }
    >
      {load.problem !== null && found === undefined ? (
        <ProblemState problem={load.problem} onRetry={load.retry} />
      ) : editing && found !== undefined ? (
        <LabelsForm labels={found} onClose={() => setEditing(false)} />
      ) : (
        <DataTable
          label="Labels of this host"
          columns={columns}
          rows={found?.labels}
          rowKey={(row) => row.key}
          skeletonRows={2}
          empty={{ title: 'No labels', next: 'Set some here, in the agent’s settings, or for many hosts by CSV.' }}
        />
      )}
    </Panel>
  )
}

function LabelsForm({ labels, onClose }: { labels: HostLabels; onClose: () => void }) {
  const queries = useQueryClient()
  const [typed, setTyped] = useState(() =>
    Object.entries(labels.set_labels)
      .map(([key, value]) => `${key}=${value}`)
      .join('\n'),
  )
  const saving = useMutation(setHostLabels(queries, labels.host_id))
  const read = readLabels(typed)
  const wrong = typeof read === 'string' ? read : undefined
  const save = () => {
    if (typeof read !== 'string') saving.mutate(read, { onSuccess: onClose })
  }
  return (
    <FieldGrid label="Labels set here" onSubmit={save}>
      <TextAreaField
        label="Labels set here, one key=value per line"
        rows={4}
        value={typed}
        error={wrong}
        onText={setTyped}
      />
      <Button type="submit" loading={saving.isPending} disabled={wrong !== undefined}>
        Save labels
      </Button>
      <Button variant="default" onClick={onClose}>
        Cancel
      </Button>
      {saving.error !== null && <Fault text={problemText(saving.error)} />}
    </FieldGrid>
  )
}
