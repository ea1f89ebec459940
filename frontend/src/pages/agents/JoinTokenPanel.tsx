import { Button, Select, TextInput } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { problemText } from '../../api/problem'
import { createJoinToken } from '../../api/queries/access/tokens'
import { readLabels } from '../../lib/fleet/labels'
import { FieldGrid } from '../../ui/inputs/FieldGrid'
import { SecretOnce } from '../../ui/inputs/SecretOnce'
import { Panel } from '../../ui/layout/Panel'
import { Fault } from '../../ui/states/Fault'
import { useSession } from '../shell/access/useSession'
import { installCommands } from './installCommands'

const uses = [
  { value: '1', label: 'one host' },
  { value: '50', label: '50 hosts' },
  { value: '500', label: '500 hosts' },
  { value: 'any', label: 'unlimited hosts' },
]
const lifetimes = [
  { value: '1', label: '1 hour' },
  { value: '24', label: '1 day' },
  { value: '168', label: '1 week' },
]

/** Makes a join token, and says how a host is enrolled with it. Only for those who may. */
export function JoinTokenPanel() {
  const queries = useQueryClient()
  const { may } = useSession()
  const [count, setCount] = useState('1')
  const [hours, setHours] = useState('24')
  const [typed, setTyped] = useState('')
  const [note, setNote] = useState('')
  const making = useMutation(createJoinToken(queries))
  if (!may('write:agents')) return null
  const labels = readLabels(typed)
  const wrong = typeof labels === 'string' ? labels : undefined
  const make = () => {
    if (typeof labels === 'string') return
    making.mutate({ uses: count === 'any' ? null : Number(count), hours: Number(hours), labels, note: note.trim() })
  }
  return (
    <>
      <Panel
        title="Enrol hosts"
        hint="a join token gives each host its own credential, which can write that host only"
        testId="join-token"
      >
        <FieldGrid label="New join token" onSubmit={make}>
          <Select
            label="Number of hosts"
            allowDeselect={false}
            data={uses}
            value={count}
            onChange={(value) => setCount(value ?? '1')}
          />
          <Select
            label="Expires in"
            allowDeselect={false}
            data={lifetimes}
            value={hours}
            onChange={(value) => setHours(value ?? '24')}
          />
          <TextInput
            label="Labels of these hosts (optional)"
            placeholder="rack=r1, sku=cxl-2to1"
            value={typed}
            error={wrong}
            onChange={(event) => setTyped(event.currentTarget.value)}
          />
          <TextInput
            label="Note (optional)"
            maxLength={200}
            value={note}
            onChange={(event) => setNote(event.currentTarget.value)}
          />
          <Button type="submit" loading={making.isPending} disabled={wrong !== undefined}>
            Create join token
          </Button>
          {making.error !== null && <Fault text={problemText(making.error)} />}
        </FieldGrid>
      </Panel>
      {making.data !== undefined && (
        <SecretOnce
          testId="made-join-token"
          what="Run this as root on each host, next to the agent’s binary. The token is shown only once."
          secret={installCommands(window.location.origin, making.data.token)}
          onDone={making.reset}
        />
      )}
    </>
  )
}
