import { Button, Select } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState, type FormEvent } from 'react'
import type { Alert } from '../../../api/_generated/schema'
import { problemText } from '../../../api/problem'
import { createSilence } from '../../../api/queries/alerts/silences'
import { matchersText, readMatchers, type LabelMatcher } from '../../../lib/alerts'
import { Panel } from '../../../ui/layout/Panel'
import { Prose } from '../../../ui/text/Prose'
import classes from '../AlertsPage.module.css'
import { TextField } from '../../../ui/inputs/fields'

const lengths = [
  { value: '1', label: '1 hour' },
  { value: '4', label: '4 hours' },
  { value: '24', label: '1 day' },
  { value: '72', label: '3 days' },
  { value: '168', label: '1 week' },
  { value: '720', label: '30 days' },
]

/** The matchers that pick an alert again: its rule and its subject. */
function matchersOfAlert(alert: Pick<Alert, 'rule_name' | 'subject'>): string {
  const { kind, name } = alert.subject
  const rule: LabelMatcher = { name: 'alertname', op: '=', value: alert.rule_name }
  return matchersText(kind === 'fleet' ? [rule] : [rule, { name: kind, op: '=', value: name }])
}

/** Holds back notifications of matching alerts for a time. `alert`: the one that it is made from. */
export function NewSilenceForm({ alert }: { alert: Alert | undefined }) {
  const queries = useQueryClient()
  const navigate = useNavigate()
  const [typed, setTyped] = useState(() => (alert === undefined ? '' : matchersOfAlert(alert)))
  const [hours, setHours] = useState('4')
  const [comment, setComment] = useState('')
  const saving = useMutation(createSilence(queries))
  const matchers = readMatchers(typed)
  const wrong = typeof matchers === 'string' ? matchers : null
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (typeof matchers === 'string' || matchers.length === 0) return
    const ends = new Date(Date.now() + Number(hours) * 3_600_000).toISOString()
    saving.mutate(
      { matchers, ends_at: ends, comment: comment.trim() },
      {
        onSuccess: () => {
          setTyped('')
          setComment('')
          void navigate({ to: '.', search: (before) => ({ ...before, alert: undefined }), replace: true })
        },
      },
    )
  }
  return (
    <Panel
      title={alert === undefined ? 'New silence' : `Silence ${alert.rule_name} on ${alert.subject.name}`}
      hint="an alert is silenced when it meets all matchers: alertname, severity, host, service, origin, labels"
      testId="new-silence"
    >
      <form className={classes.form} onSubmit={submit} aria-label="New silence">
        <TextField
          className={classes.wide ?? ''}
          label="Matchers"
          placeholder={'alertname="ping-pong-critical", host=~"cache-.*"'}
          value={typed}
          error={wrong ?? undefined}
          onText={setTyped}
        />
        <Select label="Duration" value={hours} onChange={(value) => setHours(value ?? '4')} data={lengths} />
        <TextField label="Reason" maxLength={1000} value={comment} onText={setComment} />
        <Button type="submit" loading={saving.isPending} disabled={wrong !== null || typed.trim() === ''}>
          Silence
        </Button>
        {saving.error !== null && (
          <p className={classes.fault} role="alert">
            <Prose text={problemText(saving.error)} />
          </p>
        )}
      </form>
    </Panel>
  )
}
