import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import type { Account } from '../../api/_generated/schema'
import { accountQuery } from '../../api/queries/access/account'
import { loadStateOf } from '../../api/queries/base/loadState'
import { FactList } from '../../ui/layout/FactList'
import { Headline } from '../../ui/layout/Headline'
import { Panel } from '../../ui/layout/Panel'
import { ProblemState } from '../../ui/states/ProblemState'
import { Stack } from '../../ui/layout/Stack'
import { Columns } from '../../ui/layout/Columns'
import { OwnTokensPanel } from './OwnTokensPanel'
import { PasswordPanel } from './PasswordPanel'

const sources: Record<string, string> = { local: 'this service', oidc: 'the OpenID provider' }

function sentenceOf({ name, role, source, teams }: Account): string {
  const teamText = teams.length === 0 ? 'in no team' : `in ${teams.map((team) => team.name).join(', ')}`
  if (source === null) return `${name} (${role}) came with a one-time link and has no account of its own.`
  return `${name} is ${role === 'viewer' ? 'a' : 'an'} ${role}, ${teamText}.`
}

/** One's own account: who one is here, the password, and tokens for programs. */
export function AccountPage(): ReactNode {
  const query = useQuery(accountQuery())
  const load = loadStateOf(query)
  const account = query.data
  if (load.problem !== null && account === undefined) {
    return <ProblemState problem={load.problem} onRetry={load.retry} />
  }
  return (
    <div data-testid="page-account">
      <Headline kicker={<h1>Account</h1>} sentence={account === undefined ? undefined : sentenceOf(account)} />
      {account !== undefined && (
        <Stack>
          <Columns>
            <Panel title="Your account on this service">
              <FactList
                facts={[
                  ['Name', account.name],
                  ['Shown as', account.display_name === '' ? account.name : account.display_name],
                  ['Email', account.email ?? 'not set'],
                  ['Role', account.role],
                  ['Login method', sources[account.source ?? ''] ?? 'a one-time link'],
                  ['Teams', account.teams.map(({ name }) => name).join(', ') || 'none'],
                ]}
              />
            </Panel>
            <PasswordPanel account={account} />
          </Columns>
          <OwnTokensPanel account={account} />
        </Stack>
      )}
    </div>
  )
}
