import { Tabs } from '@mantine/core'
import { getRouteApi } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import type { PermissionName } from '../../lib/access/permissions'
import { adminTabs, type AdminTab } from '../../lib/url/identityUrl'
import { Headline } from '../../ui/layout/Headline'
import { EmptyState } from '../../ui/states/EmptyState'
import { useSession } from '../shell/access/useSession'
import { AuditTab } from './AuditTab'
import { RemovalsTab } from './RemovalsTab'
import { TeamsTab } from './TeamsTab'
import { TokensTab } from './TokensTab'
import { UsersTab } from './UsersTab'

const route = getRouteApi('/admin')

const tabs: Record<AdminTab, { label: string; needs: PermissionName; view: () => ReactNode }> = {
  users: { label: 'Users', needs: 'write:users', view: UsersTab },
  teams: { label: 'Teams', needs: 'write:users', view: TeamsTab },
  tokens: { label: 'Tokens', needs: 'write:tokens', view: TokensTab },
  audit: { label: 'Audit trail', needs: 'read:audit', view: AuditTab },
  removals: { label: 'Removed data', needs: 'purge:data', view: RemovalsTab },
}

/** Who may do what here, and who did what. Only those tabs are shown that the viewer may open. */
export function AdminPage(): ReactNode {
  const { tab } = route.useSearch()
  const navigate = route.useNavigate()
  const { session, may } = useSession()
  const allowed = adminTabs.filter((name) => may(tabs[name].needs))
  const first = allowed[0]
  const chosen = tab !== undefined && allowed.includes(tab) ? tab : first
  const setTab = (next: string | null) =>
    void navigate({ search: { tab: adminTabs.find((name) => name === next) }, resetScroll: false })
  return (
    <div data-testid="page-admin">
      <Headline
        kicker={<h1>Administration</h1>}
        sentence={
          session === undefined
            ? undefined
            : 'Users, teams and tokens control access; the audit trail records every change.'
        }
      />
      {session !== undefined && chosen === undefined && (
        <EmptyState
          title="This page is for administrators"
          next="Log in as an administrator, or ask one for the role. `tierscope token link --role admin` creates a one-time link."
        />
      )}
      {chosen !== undefined && (
        <Tabs value={chosen} onChange={setTab} keepMounted={false}>
          <Tabs.List mb="sm">
            {allowed.map((name) => (
              <Tabs.Tab key={name} value={name}>
                {tabs[name].label}
              </Tabs.Tab>
            ))}
          </Tabs.List>
          {allowed.map((name) => {
            const View = tabs[name].view
            return (
              <Tabs.Panel key={name} value={name}>
                <View />
              </Tabs.Panel>
            )
          })}
        </Tabs>
      )}
    </div>
  )
}
