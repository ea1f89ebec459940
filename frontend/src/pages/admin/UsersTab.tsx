import { Button, Select } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { User } from '../../api/_generated/schema'
import { problemText } from '../../api/problem'
import { loadStateOf } from '../../api/queries/base/loadState'
import { teamsQuery } from '../../api/queries/access/teams'
import { createPasswordLink, createUser, deleteUser, updateUser, usersQuery } from '../../api/queries/access/users'
import { DataTable } from '../../ui/tables/DataTable'
import { Fault } from '../../ui/states/Fault'
import { FieldGrid } from '../../ui/inputs/FieldGrid'
import { Panel } from '../../ui/layout/Panel'
import { SecretOnce } from '../../ui/inputs/SecretOnce'
import { Stack } from '../../ui/layout/Stack'
import { roles, type Role } from './roles'
import { userColumns } from './userColumns'
import { TextField } from '../../ui/inputs/fields'

/** Users with their role: made, changed, disabled and removed here. */
export function UsersTab() {
  const queries = useQueryClient()
  const query = useQuery(usersQuery())
  const teams = useQuery(teamsQuery())
  const load = loadStateOf(query)
  const [sort, setSort] = useState('name')
  const updating = useMutation(updateUser(queries))
  const deleting = useMutation(deleteUser(queries))
  const linking = useMutation(createPasswordLink(queries))
  const failed = [updating, deleting, linking].find(({ error }) => error !== null)?.error ?? null
  const change = (user: User, next: Partial<Pick<User, 'role' | 'disabled'>>) =>
    updating.mutate({
      id: user.id,
      display_name: user.display_name,
      email: user.email,
      role: user.role,
      disabled: user.disabled,
      ...next,
    })
  return (
    <Stack>
      <NewUserForm onMade={(user) => linking.mutate(user.id)} />
      {linking.data !== undefined && (
        <SecretOnce
          testId="password-link"
          what="Give this one-time link to the user to set their password. It is shown only once."
          secret={`${window.location.origin}${linking.data.path}`}
          onDone={linking.reset}
        />
      )}
      <Panel
        title="Users"
        hint="users of the provider are created at their first login; their role comes from its claims"
        flush
        testId="users"
      >
        {failed !== null && <Fault text={problemText(failed)} />}
        <DataTable
          load={load}
          label="Users"
          columns={userColumns({
            teamName: (id) => teams.data?.find((team) => team.id === id)?.name ?? id,
            pending: updating.isPending || deleting.isPending || linking.isPending,
            onRole: (user, role) => change(user, { role }),
            onDisable: (user) => change(user, { disabled: !user.disabled }),
            onLink: (user) => linking.mutate(user.id),
            onDelete: (user) => deleting.mutate(user.id),
          })}
          rows={query.data}
          rowKey={(row) => row.id}
          sort={sort}
          onSort={setSort}
          skeletonRows={4}
          empty={{ title: 'No users yet', next: 'Create one above. One-time links work without users.' }}
        />
      </Panel>
    </Stack>
  )
}

function NewUserForm({ onMade }: { onMade: (user: User) => void }) {
  const queries = useQueryClient()
  const [name, setName] = useState('')
  const [shown, setShown] = useState('')
  const [mail, setMail] = useState('')
  const [role, setRole] = useState<Role>('viewer')
  const making = useMutation(createUser(queries))
  const make = () =>
    making.mutate(
      { name: name.trim(), display_name: shown.trim(), email: mail.trim() === '' ? null : mail.trim(), role },
      {
        onSuccess: (user) => {
          setName('')
          setShown('')
          setMail('')
          onMade(user)
        },
      },
    )
  return (
    <Panel title="New user" hint="they get a one-time link to set a password" testId="new-user">
      <FieldGrid label="New user" onSubmit={make}>
        <TextField label="Login name" value={name} onText={setName} />
        <TextField label="Shown as" value={shown} onText={setShown} />
        <TextField label="Email (optional)" value={mail} onText={setMail} />
        <Select
          label="Role"
          data={roles}
          value={role}
          onChange={(value) => setRole(roles.find((known) => known === value) ?? 'viewer')}
        />
        <Button type="submit" loading={making.isPending} disabled={name.trim() === ''}>
          Create user
        </Button>
        {making.error !== null && <Fault text={problemText(making.error)} />}
      </FieldGrid>
    </Panel>
  )
}
