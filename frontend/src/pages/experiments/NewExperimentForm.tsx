import { Button, NumberInput, Select } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState, type FormEvent } from 'react'
import type { CanaryProposal } from '../../api/_generated/schema'
import { problemText } from '../../api/problem'
import { loadStateOf } from '../../api/queries/base/loadState'
import { canariesQuery } from '../../api/queries/changePlan'
import { experimentPlanQuery, startExperiment } from '../../api/queries/experiments'
import { servicesQuery } from '../../api/queries/fleet/services'
import { Panel } from '../../ui/layout/Panel'
import { Stack } from '../../ui/layout/Stack'
import { Prose } from '../../ui/text/Prose'
import { CanaryPanel } from './CanaryPanel'
import { armsOf, blankEntry, entryOf, requestOf } from './experimentEntry'
import classes from './ExperimentPage.module.css'
import { PlanPanel } from './PlanPanel'
import { TextField } from '../../ui/inputs/fields'
import { LoginFirst } from '../shell/access/LoginFirst'

type NumberKey = 'margin' | 'canary' | 'startsIn' | 'before' | 'hours' | 'settlingMinutes'

interface NewExperimentFormProps {
  service: string
  advice: string | undefined
  /** Arms for a change of the plan; null where hosts are drawn when the experiment starts. */
  proposal: CanaryProposal | null
  /** Another service of the change was chosen. */
  onService: (serviceId: string) => void
}

/** The form of an experiment, and what it could tell. */
export function NewExperimentForm({ service, advice, proposal: first, onService }: NewExperimentFormProps) {
  const queries = useQueryClient()
  const navigate = useNavigate()
  const [entry, setEntry] = useState(() => (first === null ? blankEntry(service) : entryOf(first)))
  const arms = useQuery(canariesQuery(first?.change_id, first?.service_id, Number(entry.canary) || undefined))
  const proposal = first === null ? null : (arms.data ?? first)
  const adviceId = proposal?.advice_id ?? advice
  const services = useQuery(servicesQuery(null))
  const plan = useQuery(experimentPlanQuery(entry.service, entry.metric, Number(entry.margin) / 100 || 0.01))
  const starting = useMutation(startExperiment(queries))
  const complete = requestOf(entry, plan.data?.metric, adviceId, 0, armsOf(proposal)) !== null && !arms.isFetching
  const set = (change: Partial<typeof entry>) => setEntry({ ...entry, ...change })
  const number = (label: string, key: NumberKey, suffix: string, min: number, max: number) => (
    <NumberInput
      label={label}
      suffix={suffix}
      min={min}
      max={max}
      value={entry[key]}
      onChange={(value) => set({ [key]: value })}
    />
  )
  const submit = (event: FormEvent) => {
    event.preventDefault()
    const request = requestOf(entry, plan.data?.metric, adviceId, Date.now(), armsOf(proposal))
    if (request === null) return
    starting.mutate(request, {
      onSuccess: ({ experiment }) =>
        void navigate({ to: '/experiments/$experimentId', params: { experimentId: experiment.id } }),
    })
  }
  return (
    <form onSubmit={submit} aria-label="New experiment">
      <Stack>
        <Panel title="Design" hint="apply the change to the canary hosts yourself, at the time of the change">
          <div className={classes.form}>
            <TextField label="Name" required maxLength={200} value={entry.name} onText={(name) => set({ name })} />
            <Select
              allowDeselect
              label="Service"
              searchable
              required
              value={entry.service === '' ? null : entry.service}
              onChange={(value) => {
                if (proposal === null) set({ service: value ?? '', metric: undefined })
                else if (value !== null) onService(value)
              }}
              data={
                proposal?.services.map((found) => ({
                  value: found.service_id,
                  label: `${found.service_name} (${found.hosts})`,
                })) ??
                (services.data?.items ?? []).map((found) => ({
                  value: found.id,
                  label: `${found.namespace}/${found.name}`,
                }))
              }
            />
            <Select
              label="Decision metric"
              value={entry.metric ?? plan.data?.metric ?? null}
              onChange={(value) => set({ metric: value ?? undefined })}
              data={(plan.data?.choices ?? []).map(({ metric, label }) => ({ value: metric, label }))}
              disabled={plan.data === undefined}
            />
            {number('Margin', 'margin', ' %', 0.1, 50)}
            {number('Canary hosts', 'canary', '', 1, 1000)}
            {number('Change in', 'startsIn', ' h', 0, 720)}
            {number('Baseline before the change', 'before', ' h', 1, 720)}
            {number('Runs for', 'hours', ' h', 1, 720)}
            {number('Settling time', 'settlingMinutes', ' min', 0, 1440)}
            <TextField
              className={classes.wide ?? ''}
              label="Hypothesis (optional)"
              maxLength={2000}
              value={entry.hypothesis}
              onText={(hypothesis) => set({ hypothesis })}
            />
            <LoginFirst may="write:experiments" to="start it">
              <Button type="submit" disabled={!complete} loading={starting.isPending}>
                Start experiment
              </Button>
            </LoginFirst>
            {starting.error !== null && (
              <p className={classes.fault} role="alert">
                <Prose text={problemText(starting.error)} />
              </p>
            )}
          </div>
        </Panel>
        {proposal !== null && <CanaryPanel proposal={proposal} />}
        {entry.service !== '' && (
          <PlanPanel
            plan={plan.data}
            load={loadStateOf(plan)}
            canary={proposal?.canary.length ?? Number(entry.canary)}
            control={proposal?.control.length}
          />
        )}
      </Stack>
    </form>
  )
}
