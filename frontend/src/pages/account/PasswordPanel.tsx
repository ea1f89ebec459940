import { Button } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { Account } from '../../api/_generated/schema'
import { problemText } from '../../api/problem'
import { changePassword } from '../../api/queries/access/account'
import { FieldGrid } from '../../ui/inputs/FieldGrid'
import { Panel } from '../../ui/layout/Panel'
import { EmptyState } from '../../ui/states/EmptyState'
import { Fault } from '../../ui/states/Fault'
import { PasswordField } from '../../ui/inputs/fields'

/** Sets another password; other sessions end by it. */
export function PasswordPanel({ account }: { account: Account }) {
  const queries = useQueryClient()
  const [current, setCurrent] = useState('')
  const [next, setNext] = useState('')
  const [again, setAgain] = useState('')
  const saving = useMutation(changePassword(queries))
  const differs = again !== '' && again !== next
  const save = () =>
    saving.mutate(
      { current_password: current, new_password: next },
      {
        onSuccess: () => {
          setCurrent('')
          setNext('')
          setAgain('')
        },
      },
    )
  return (
    <Panel title="Password" hint="at least 15 characters; several unrelated words work well" testId="password">
      {!account.can_change_password ? (
        <EmptyState
          title="There is no password to change here"
          next={
            account.source === 'oidc'
              ? 'Change it at the OpenID provider.'
              : 'Ask an administrator for an account of your own.'
          }
        />
      ) : (
        <FieldGrid label="Change the password" onSubmit={save}>
          <PasswordField label="Current password" autoComplete="current-password" value={current} onText={setCurrent} />
          <PasswordField label="New password" autoComplete="new-password" value={next} onText={setNext} />
          <PasswordField
            label="Repeat new password"
            autoComplete="new-password"
            error={differs ? 'The passwords differ.' : undefined}
            value={again}
            onText={setAgain}
          />
          <Button
            type="submit"
            loading={saving.isPending}
            disabled={current === '' || next === '' || again === '' || differs}
          >
            Change password
          </Button>
          {saving.error !== null && <Fault text={problemText(saving.error)} />}
          {saving.isSuccess && <p role="status">Password changed. All other sessions have ended.</p>}
        </FieldGrid>
      )}
    </Panel>
  )
}
