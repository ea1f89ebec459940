import { Button, Select } from '@mantine/core'
import type { User } from '../../api/_generated/schema'
import { ConfirmDelete } from '../../ui/inputs/ConfirmDelete'
import type { Column } from '../../ui/tables/column'
import { ToneTag } from '../../ui/tags/ToneTag'
import classes from './AdminPage.module.css'
import { roles, type Role } from './roles'
import { timeColumn } from '../../ui/tables/figureColumn'

interface UserActions {
  teamName: (id: string) => string
  pending: boolean
  onRole: (user: User, role: Role) => void
  onDisable: (user: User) => void
  onLink: (user: User) => void
  onDelete: (user: User) => void
}

const sources = { local: 'password', oidc: 'provider' } as const

/** The columns of the list of users, with what can be done to each. */
export function userColumns(actions: UserActions): Column<User>[] {
  return [
    {
      key: 'name',
      header: 'User',
      sortBy: (user) => user.name,
      cell: (user) => (
        <>
          <strong>{user.name}</strong>
          {user.display_name !== '' && <div className={classes.sub}>{user.display_name}</div>}
        </>
      ),
      value: (user) => user.name,
    },
    { key: 'mail', header: 'Email', cell: (user) => user.email ?? '–', value: (user) => user.email },
    {
      key: 'role',
      header: 'Role',
      sortBy: (user) => roles.indexOf(user.role),
      value: (user) => user.role,
      cell: (user) =>
        user.source === 'oidc' ? (
          user.role
        ) : (
          <Select
            aria-label={`Role of ${user.name}`}
            w={110}
            data={roles}
            value={user.role}
            disabled={actions.pending}
            onChange={(value) => {
              const role = roles.find((known) => known === value)
              if (role !== undefined) actions.onRole(user, role)
            }}
          />
        ),
    },
    { key: 'source', header: 'Login method', sortBy: (user) => user.source, cell: (user) => sources[user.source] },
    { key: 'teams', header: 'Teams', cell: (user) => user.teams.map(actions.teamName).join(', ') || 'none' },
    timeColumn('seen', 'Last login', (user) => user.last_login_at),
    {
      key: 'state',
      header: 'State',
      sortBy: (user) => (user.disabled ? 1 : 0),
      cell: (user) => (
        <ToneTag tone={user.disabled ? 'neutral' : 'good'} label={user.disabled ? 'disabled' : 'active'} />
      ),
    },
    { key: 'do', header: '', cell: (user) => <UserButtons user={user} actions={actions} /> },
  ]
}

function UserButtons({ user, actions }: { user: User; actions: UserActions }) {
  return (
    <span className={classes.buttons}>
      {user.source === 'local' && (
        <Button
          variant="default"
          size="compact-xs"
          disabled={actions.pending}
          aria-label={`Password link for ${user.name}`}
          onClick={() => actions.onLink(user)}
        >
          Password link
        </Button>
      )}
      <Button
        variant="default"
        size="compact-xs"
        disabled={actions.pending}
        aria-label={`${user.disabled ? 'Enable' : 'Disable'} ${user.name}`}
        onClick={() => actions.onDisable(user)}
      >
        {user.disabled ? 'Enable' : 'Disable'}
      </Button>
      <ConfirmDelete
        compact
        what={user.name}
        consequence="Their sessions and tokens end immediately. The audit trail is kept."
        pending={actions.pending}
        onConfirm={() => actions.onDelete(user)}
      />
    </span>
  )
}
