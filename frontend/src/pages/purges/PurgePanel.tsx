import { Button } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { problemText } from '../../api/problem'
import { purgeQuery, startPurge } from '../../api/queries/operate/purges'
import { FieldGrid } from '../../ui/inputs/FieldGrid'
import { Panel } from '../../ui/layout/Panel'
import { Fault } from '../../ui/states/Fault'
import { useSession } from '../shell/access/useSession'
import { PurgeReport } from './PurgeReport'
import { TextField } from '../../ui/inputs/fields'

interface PurgePanelProps {
  subject: { kind: 'host' | 'service'; id: string }
  /** What must be typed: a host's name, `namespace/name` of a service. */
  name: string
  /** What is lost and what comes after, in sentences. */
  consequence: string
}

/** Removes all data of a host or service for ever, after its name was typed. Only for those who may. */
export function PurgePanel({ subject, name, consequence }: PurgePanelProps) {
  const queries = useQueryClient()
  const { may } = useSession()
  const [typed, setTyped] = useState('')
  const starting = useMutation(startPurge(queries, subject))
  const job = useQuery(purgeQuery(starting.data?.id ?? null))
  if (!may('purge:data')) return null
  const purge = job.data ?? starting.data
  return (
    <Panel title={`Remove this ${subject.kind} and all its data`} hint={consequence} testId="purge">
      {purge !== undefined ? (
        <PurgeReport purge={purge} />
      ) : (
        <FieldGrid label={`Remove ${name}`} onSubmit={() => starting.mutate(typed)}>
          <TextField
            label={
              <>
                Type <code>{name}</code> to confirm
              </>
            }
            autoComplete="off"
            value={typed}
            onText={setTyped}
          />
          <Button type="submit" color="red" loading={starting.isPending} disabled={typed !== name}>
            Delete permanently
          </Button>
          {starting.error !== null && <Fault text={problemText(starting.error)} />}
        </FieldGrid>
      )}
    </Panel>
  )
}
