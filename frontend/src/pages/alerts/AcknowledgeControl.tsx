import { Button, Popover } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState, type FormEvent } from 'react'
import type { Alert } from '../../api/_generated/schema'
import { problemText } from '../../api/problem'
import { acknowledgeAlert } from '../../api/queries/alerts/alerts'
import { Prose } from '../../ui/text/Prose'
import { LoginFirst } from '../shell/access/LoginFirst'
import classes from './AlertsPage.module.css'
import { TextField } from '../../ui/inputs/fields'

/** Says that somebody looks after an alert, with a note; or takes that back. Resolved alerts have none. */
export function AcknowledgeControl({ alert }: { alert: Alert }) {
  const queries = useQueryClient()
  const [opened, setOpened] = useState(false)
  const [note, setNote] = useState('')
  const saving = useMutation(acknowledgeAlert(queries, alert.id))
  if (alert.state === 'resolved') return null
  const given = alert.acknowledged !== null
  const submit = (event: FormEvent) => {
    event.preventDefault()
    event.stopPropagation()
    saving.mutate(given ? null : note.trim(), { onSuccess: () => setOpened(false) })
  }
  return (
    <LoginFirst may="write:silences" to="acknowledge">
      <Popover opened={opened} onChange={setOpened} position="bottom-end" trapFocus={opened} returnFocus>
        <Popover.Target>
          <Button variant="default" size="compact-xs" aria-expanded={opened} onClick={() => setOpened(!opened)}>
            {given ? 'Unacknowledge' : 'Acknowledge'}
          </Button>
        </Popover.Target>
        <Popover.Dropdown>
          <form onSubmit={submit} className={classes.popover} aria-label={`Acknowledge ${alert.rule_name}`}>
            {given ? (
              <p className={classes.small}>Notifications repeat again while it fires.</p>
            ) : (
              <>
                <TextField label="Note (optional)" maxLength={1000} value={note} onText={setNote} />
                <p className={classes.small}>Notifications stop repeating; the resolution is still sent.</p>
              </>
            )}
            <Button type="submit" loading={saving.isPending}>
              {given ? 'Remove acknowledgement' : 'Confirm'}
            </Button>
            {saving.error !== null && (
              <p className={classes.fault} role="alert">
                <Prose text={problemText(saving.error)} />
              </p>
            )}
          </form>
        </Popover.Dropdown>
      </Popover>
    </LoginFirst>
  )
}
