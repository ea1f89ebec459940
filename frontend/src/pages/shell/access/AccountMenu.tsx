import { ActionIcon, Button, Menu } from '@mantine/core'
import { IconLogout, IconUser } from '@tabler/icons-react'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { Link, useNavigate, useRouterState } from '@tanstack/react-router'
import { logOut } from '../../../api/queries/access/session'
import { leaveTo } from '../../../lib/access/leave'
import { useSession } from './useSession'

/** Who is logged in, with the way to their account and out; a login where nobody is. */
export function AccountMenu() {
  const { session } = useSession()
  const navigate = useNavigate()
  const queries = useQueryClient()
  const here = useRouterState({ select: (state) => state.location.href })
  const leaving = useMutation(logOut(queries))
  if (session === undefined) return null
  if (session.kind !== 'session') {
    return (
      <Button
        variant="default"
        flex="none"
        renderRoot={(props) => <Link {...props} to="/login" search={{ next: here }} />}
      >
        Log in
      </Button>
    )
  }
  const leave = () => {
    const { logout_url } = session
    const goOn = () => {
      if (logout_url === null) void navigate({ to: '/login' })
      else leaveTo(logout_url)
    }
    leaving.mutate(undefined, { onSuccess: goOn })
  }
  return (
    <Menu position="bottom-end" width={200}>
      <Menu.Target>
        <ActionIcon aria-label={`Account of ${session.name ?? 'you'}`} data-testid="account-menu">
          <IconUser size={17} aria-hidden />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>
          {session.name} · {session.role}
        </Menu.Label>
        <Menu.Item
          leftSection={<IconUser size={14} aria-hidden />}
          renderRoot={(props) => <Link {...props} to="/account" />}
        >
          Account and tokens
        </Menu.Item>
        <Menu.Item leftSection={<IconLogout size={14} aria-hidden />} onClick={leave}>
          Log out
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  )
}
