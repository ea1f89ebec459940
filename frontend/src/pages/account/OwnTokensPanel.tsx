import { Button, MultiSelect, Select } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { Account, OwnToken } from '../../api/_generated/schema'
import { problemText } from '../../api/problem'
import { createOwnToken, ownTokensQuery, revokeOwnToken } from '../../api/queries/access/account'
import { loadStateOf } from '../../api/queries/base/loadState'
import { permissionText } from '../../lib/access/permissions'
import { ConfirmDelete } from '../../ui/inputs/ConfirmDelete'
import { FieldGrid } from '../../ui/inputs/FieldGrid'
import { SecretOnce } from '../../ui/inputs/SecretOnce'
import { Panel } from '../../ui/layout/Panel'
import { Stack } from '../../ui/layout/Stack'
import { EmptyState } from '../../ui/states/EmptyState'
import { Fault } from '../../ui/states/Fault'
import type { Column } from '../../ui/tables/column'
import { DataTable } from '../../ui/tables/DataTable'
import { Timestamp } from '../../ui/text/Timestamp'
import { TextField } from '../../ui/inputs/fields'

const lifetimes = [
  { value: '7', label: '1 week' },
  { value: '30', label: '30 days' },
  { value: '90', label: '90 days' },
  { value: '365', label: '1 year' },
]

/** Tokens of one's own for programs: what they may do, until when, made and revoked here. */
export function OwnTokensPanel({ account }: { account: Account }) {
  const queries = useQueryClient()
  const query = useQuery({ ...ownTokensQuery(), enabled: account.user_id !== null })
  const load = loadStateOf(query)
  const [note, setNote] = useState('')
  const [scopes, setScopes] = useState<string[]>(['read:fleet'])
  const [days, setDays] = useState('90')
  const making = useMutation(createOwnToken(queries))
  const revoking = useMutation(revokeOwnToken(queries))
  const make = () => making.mutate({ note: note.trim(), scopes, days: Number(days) }, { onSuccess: () => setNote('') })
  if (account.user_id === null) {
    return (
      <Panel title="Your tokens" testId="own-tokens">
        <EmptyState
          title="Tokens belong to an account"
          next="Ask an administrator for an account; tokens for services are created under Administration."
        />
      </Panel>
    )
  }
  return (
    <Stack>
      {account.token_scopes.length > 0 && (
        <Panel
          title="New token"
          hint="for a program that acts on your behalf; its permissions never exceed yours"
          testId="new-token"
        >
          <FieldGrid label="New token" onSubmit={make}>
            <TextField label="Purpose" maxLength={200} value={note} onText={setNote} />
            <MultiSelect
              label="Permissions"
              data={account.token_scopes.map((scope) => ({ value: scope, label: permissionText(scope) }))}
              value={scopes}
              onChange={setScopes}
            />
            <Select label="Expires in" data={lifetimes} value={days} onChange={(value) => setDays(value ?? '90')} />
            <Button type="submit" loading={making.isPending} disabled={note.trim() === '' || scopes.length === 0}>
              Create token
            </Button>
            {making.error !== null && <Fault text={problemText(making.error)} />}
          </FieldGrid>
        </Panel>
      )}
      {making.data !== undefined && (
        <SecretOnce
          testId="made-token"
          what="Your new token is shown only once. Send it as `Authorization: Bearer …`."
          secret={making.data.token}
          onDone={making.reset}
        />
      )}
      <Panel title="Your tokens" flush testId="own-tokens">
        {revoking.error !== null && <Fault text={problemText(revoking.error)} />}
        <DataTable
          load={load}
          label="Your tokens"
          columns={tokenColumns((id) => revoking.mutate(id), revoking.isPending)}
          rows={query.data}
          rowKey={(row) => row.id}
          skeletonRows={2}
          empty={{ title: 'No tokens', next: 'Create one for each program that reads or writes on your behalf.' }}
        />
      </Panel>
    </Stack>
  )
}

function tokenColumns(onRevoke: (id: string) => void, pending: boolean): Column<OwnToken>[] {
  return [
    { key: 'note', header: 'Purpose', cell: (row) => row.note },
    { key: 'scopes', header: 'Permissions', cell: (row) => row.scopes.map(permissionText).join(', ') },
    { key: 'made', header: 'Created', cell: (row) => <Timestamp at={row.created_at} /> },
    { key: 'ends', header: 'Expires', cell: (row) => <Timestamp at={row.expires_at} /> },
    { key: 'used', header: 'Last used', cell: (row) => <Timestamp at={row.last_used_at} /> },
    {
      key: 'do',
      header: '',
      cell: (row) => (
        <ConfirmDelete
          compact
          what={`the token for ${row.note}`}
          consequence="Programs that use it lose access immediately."
          pending={pending}
          onConfirm={() => onRevoke(row.id)}
        />
      ),
    },
  ]
}
