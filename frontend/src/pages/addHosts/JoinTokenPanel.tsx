import { Button, Select } from '@mantine/core'
import type { UseMutationResult } from '@tanstack/react-query'
import { useState } from 'react'
import type { JoinToken, JoinTokenRequest } from '../../api/_generated/schema'
import { problemText } from '../../api/problem'
import { readLabels } from '../../lib/fleet/labels'
import { FieldGrid } from '../../ui/inputs/FieldGrid'
import { SecretOnce } from '../../ui/inputs/SecretOnce'
import { Panel } from '../../ui/layout/Panel'
import { Fault } from '../../ui/states/Fault'
import { useSession } from '../shell/access/useSession'
import { TokenRefusal } from './TokenRefusal'
import { TextField } from '../../ui/inputs/fields'

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

interface JoinTokenPanelProps {
  making: UseMutationResult<JoinToken, Error, JoinTokenRequest>
  /** With the labels of the token that was made. */
  onMade: (labels: Record<string, string>) => void
}

/** Makes a join token; says who can where the viewer may not. */
export function JoinTokenPanel({ making, onMade }: JoinTokenPanelProps) {
  const { may } = useSession()
  return (
    <>
      <Panel
        title="Join token"
        hint="it gives each host its own credential, which can write that host only"
        testId="join-token"
      >
        {may('write:agents') ? (
          <JoinTokenForm making={making} onMade={onMade} />
        ) : (
          <TokenRefusal what="a join token" command="tierscope token join --uses 50" />
        )}
      </Panel>
      {making.data !== undefined && (
        <SecretOnce
          testId="made-join-token"
          what="The join token is in the commands below. It is shown only until you leave this page."
          secret={making.data.token}
          onDone={making.reset}
        />
      )}
    </>
  )
}

function JoinTokenForm({ making, onMade }: JoinTokenPanelProps) {
  const [count, setCount] = useState('1')
  const [hours, setHours] = useState('24')
  const [typed, setTyped] = useState('')
  const [note, setNote] = useState('')
  const labels = readLabels(typed)
  const wrong = typeof labels === 'string' ? labels : undefined
  const make = () => {
    if (typeof labels === 'string') return
    making.mutate(
      { uses: count === 'any' ? null : Number(count), hours: Number(hours), labels, note: note.trim() },
      { onSuccess: () => onMade(labels) },
    )
  }
  return (
    <FieldGrid label="New join token" onSubmit={make}>
      <Select label="Number of hosts" data={uses} value={count} onChange={(value) => setCount(value ?? '1')} />
      <Select label="Expires in" data={lifetimes} value={hours} onChange={(value) => setHours(value ?? '24')} />
      <TextField
        label="Labels of these hosts (optional)"
        placeholder="rack=r1, sku=cxl-2to1"
        value={typed}
        error={wrong}
        onText={setTyped}
      />
      <TextField label="Note (optional)" maxLength={200} value={note} onText={setNote} />
      <Button type="submit" loading={making.isPending} disabled={wrong !== undefined}>
        Create join token
      </Button>
      {making.error !== null && <Fault text={problemText(making.error)} />}
    </FieldGrid>
  )
}
