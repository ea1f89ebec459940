import { Button, NumberInput, Select, TextInput } from '@mantine/core'
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
            <TextInput
              label="Name"
              required
              maxLength={200}
              value={entry.name}
              onChange={(event) => set({ name: event.currentTarget.value })}
            />
            <Select
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
              allowDeselect={false}
            />
            <NumberInput
              size="xs"
              label="Margin"
              suffix=" %"
              min={0.1}
              max={50}
              value={entry.margin}
              onChange={(margin) => set({ margin })}
            />
            <NumberInput
              size="xs"
              label="Canary hosts"
              min={1}
              max={1000}
              value={entry.canary}
              onChange={(canary) => set({ canary })}
            />
            <NumberInput
              size="xs"
              label="Change in"
              suffix=" h"
              min={0}
              max={720}
              value={entry.startsIn}
              onChange={(startsIn) => set({ startsIn })}
            />
            <NumberInput
              size="xs"
              label="Baseline before the change"
              suffix=" h"
              min={1}
              max={720}
              value={entry.before}
              onChange={(before) => set({ before })}
            />
            <NumberInput
              size="xs"
              label="Runs for"
              suffix=" h"
              min={1}
              max={720}
              value={entry.hours}
              onChange={(hours) => set({ hours })}
            />
            <NumberInput
              size="xs"
              label="Settling time"
              suffix=" min"
              min={0}
              max={1440}
              value={entry.settlingMinutes}
              onChange={(settlingMinutes) => set({ settlingMinutes })}
            />
            <TextInput
              className={classes.wide ?? ''}
              label="Hypothesis (optional)"
              maxLength={2000}
              value={entry.hypothesis}
              onChange={(event) => set({ hypothesis: event.currentTarget.value })}
            />
            <Button type="submit" disabled={!complete} loading={starting.isPending}>
              Start experiment
            </Button>
            {starting.error !== null && (
              <p className={classes.fault} role="alert">
                <Prose text={problemText(starting.error)} />
              </p>
            )}
          </div>
        </Panel>
        {proposal !== null && <CanaryPanel proposal={proposal} />}
        {entry.service !== '' && <PlanPanel plan={plan.data} load={loadStateOf(plan)} canary={Number(entry.canary)} />}
      </Stack>
    </form>
  )
}
