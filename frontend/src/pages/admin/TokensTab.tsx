import { Button, Select } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import type { TokenInfo } from '../../api/_generated/schema'
import { problemText } from '../../api/problem'
import { createToken, revokeToken, tokensQuery } from '../../api/queries/access/tokens'
import { loadStateOf } from '../../api/queries/base/loadState'
import { ConfirmDelete } from '../../ui/inputs/ConfirmDelete'
import { FieldGrid } from '../../ui/inputs/FieldGrid'
import { SecretOnce } from '../../ui/inputs/SecretOnce'
import { Panel } from '../../ui/layout/Panel'
import { Stack } from '../../ui/layout/Stack'
import { Fault } from '../../ui/states/Fault'
import type { Column } from '../../ui/tables/column'
import { DataTable } from '../../ui/tables/DataTable'
import { timeColumn } from '../../ui/tables/figureColumn'
import { ToneTag } from '../../ui/tags/ToneTag'
import { Timestamp } from '../../ui/text/Timestamp'
import { useNow } from '../shell/time/useNow'
import { roles, type Role } from './roles'
import { SwitchField, TextField } from '../../ui/inputs/fields'

const kinds = { join: 'join token', api: 'API token', link: 'login link', session: 'session' } as const

/** All tokens: for programs, for hosts that join, login links and sessions; made and revoked here. */
export function TokensTab() {
  const queries = useQueryClient()
  const now = useNow()
  const query = useQuery(tokensQuery())
  const load = loadStateOf(query)
  const [all, setAll] = useState(false)
  const [sort, setSort] = useState('-made')
  const revoking = useMutation(revokeToken(queries))
  const shown = query.data?.filter((token) => all || stateOf(token, now) === 'active')
  return (
    <Stack>
      <NewTokenForm />
      <Panel
        title="Tokens"
        hint={
          <>
            secrets are not stored: issue a new token for a lost one. Join tokens are created under{' '}
            <Link to="/add-hosts">Add hosts</Link>.
          </>
        }
        flush
        testId="tokens"
        actions={<SwitchField label="Show expired" checked={all} onChecked={setAll} />}
      >
        {revoking.error !== null && <Fault text={problemText(revoking.error)} />}
        <DataTable
          load={load}
          label="Tokens"
          columns={tokenColumns(now, revoking.isPending, (id) => revoking.mutate(id))}
          rows={shown}
          rowKey={(row) => row.id}
          sort={sort}
          onSort={setSort}
          skeletonRows={4}
          empty={{ title: 'No active tokens', next: 'Create one above.' }}
        />
      </Panel>
    </Stack>
  )
}

/** Whether a token can still be used. */
export function stateOf(token: TokenInfo, now: Date): 'active' | 'revoked' | 'expired' | 'used up' {
  if (token.revoked_at !== null) return 'revoked'
  if (token.expires_at !== null && Date.parse(token.expires_at) <= now.getTime()) return 'expired'
  return token.uses_left === 0 ? 'used up' : 'active'
}

function NewTokenForm() {
  const queries = useQueryClient()
  const [note, setNote] = useState('')
  const [role, setRole] = useState<Role>('viewer')
  const [days, setDays] = useState('90')
  const making = useMutation(createToken(queries))
  const make = () =>
    making.mutate(
      { note: note.trim(), role, days: days === 'never' ? null : Number(days) },
      { onSuccess: () => setNote('') },
    )
  return (
    <>
      <Panel title="New API token" hint="for a service; people create their own under Account">
        <FieldGrid label="New API token" onSubmit={make}>
          <TextField label="Purpose" maxLength={200} value={note} onText={setNote} />
          <Select
            label="Role"
            data={roles}
            value={role}
            onChange={(value) => setRole(roles.find((known) => known === value) ?? 'viewer')}
          />
          <Select
            label="Expires in"
            data={[
              { value: '30', label: '30 days' },
              { value: '90', label: '90 days' },
              { value: '365', label: '1 year' },
              { value: 'never', label: 'until it is revoked' },
            ]}
            value={days}
            onChange={(value) => setDays(value ?? '90')}
          />
          <Button type="submit" loading={making.isPending} disabled={note.trim() === ''}>
            Create token
          </Button>
          {making.error !== null && <Fault text={problemText(making.error)} />}
        </FieldGrid>
      </Panel>
      {making.data !== undefined && (
        <SecretOnce
          testId="made-token"
          what="The new token is shown only once."
          secret={making.data.token}
          onDone={making.reset}
        />
      )}
    </>
  )
}

function tokenColumns(now: Date, pending: boolean, onRevoke: (id: string) => void): Column<TokenInfo>[] {
  return [
    { key: 'kind', header: 'Kind', sortBy: (row) => row.kind, cell: (row) => kinds[row.kind] },
    { key: 'note', header: 'Purpose', sortBy: (row) => row.note, cell: (row) => row.note || '–' },
    { key: 'user', header: 'Owner', sortBy: (row) => row.user_name, cell: (row) => row.user_name ?? 'nobody' },
    {
      key: 'may',
      header: 'Permissions',
      cell: (row) => row.scopes?.join(', ') ?? row.role ?? (row.kind === 'join' ? 'enrol hosts' : '–'),
    },
    {
      key: 'uses',
      header: 'Uses left',
      numeric: true,
      cell: (row) => row.uses_left ?? 'unlimited',
      value: (row) => row.uses_left,
    },
    timeColumn('made', 'Created', (row) => row.created_at),
    {
      key: 'ends',
      header: 'Expires',
      sortBy: (row) => row.expires_at,
      cell: (row) => (row.expires_at === null ? 'never' : <Timestamp at={row.expires_at} />),
      value: (row) => (row.expires_at === null ? null : new Date(row.expires_at)),
    },
    { key: 'used', header: 'Last used', cell: (row) => <Timestamp at={row.last_used_at} now={now} /> },
    {
      key: 'state',
      header: 'State',
      cell: (row) => {
        const state = stateOf(row, now)
        return <ToneTag tone={state === 'active' ? 'good' : 'neutral'} label={state} />
      },
    },
    {
      key: 'do',
      header: '',
      cell: (row) =>
        stateOf(row, now) === 'active' && (
          <ConfirmDelete
            compact
            what={`${kinds[row.kind]} ${row.note}`.trim()}
            consequence="Programs that use it lose access immediately."
            pending={pending}
            onConfirm={() => onRevoke(row.id)}
          />
        ),
    },
  ]
}
