import { Button, NumberInput } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState, type FormEvent } from 'react'
import { problemText } from '../../../api/problem'
import { loadStateOf } from '../../../api/queries/base/loadState'
import { policiesQuery, sourcesQuery } from '../../../api/queries/simulate/simulate'
import { startSweep } from '../../../api/queries/simulate/sweeps'
import { pricesQuery } from '../../../api/queries/tco'
import { toRfc3339 } from '../../../lib/units/time'
import { formatCount } from '../../../lib/units/units'
import { resolveRange } from '../../../lib/url/timeRange'
import { Panel } from '../../../ui/layout/Panel'
import { ProblemState } from '../../../ui/states/ProblemState'
import { Prose } from '../../../ui/text/Prose'
import { useTimeRange } from '../../shell/time/useTimeRange'
import classes from '../SimulatorPage.module.css'
import { PolicyPicker } from './PolicyPicker'
import { RatioPicker } from './RatioPicker'
import { SettingsTable } from './SettingsTable'
import { SourcePicker } from './SourcePicker'
import {
  assumedSlowPrice,
  blankEntry,
  bookedSlowPrice,
  countRuns,
  offeredSettings,
  requestOf,
  sweepName,
  type SweepEntry,
} from './sweepEntry'
import { TextField } from '../../../ui/inputs/fields'
import { LoginFirst } from '../../shell/access/LoginFirst'

/** Starts a sweep: a trace, policies, DRAM shares, and settings or values to search over. */
export function NewSweepForm({ service }: { service: string | undefined }) {
  const queries = useQueryClient()
  const navigate = useNavigate()
  const { range } = useTimeRange()
  const [entry, setEntry] = useState(() => blankEntry(service))
  const policies = useQuery(policiesQuery())
  const sources = useQuery(sourcesQuery())
  const starting = useMutation(startSweep(queries))
  const load = loadStateOf(policies)
  const booked = bookedSlowPrice(useQuery(pricesQuery()).data?.items ?? [])
  const slowPrice = entry.slowPrice ?? booked ?? assumedSlowPrice
  const named = { ...entry, name: sweepName(entry, sources.data), slowPrice }
  const set = (change: Partial<SweepEntry>) => setEntry((before) => ({ ...before, ...change }))
  if (load.problem !== null) return <ProblemState problem={load.problem} onRetry={load.retry} />
  const ready = policies.data !== undefined && requestOf(named, policies.data, range) !== null
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (policies.data === undefined) return
    const { start, end } = resolveRange(range.from, range.to, Date.now() / 1000)
    const request = requestOf(named, policies.data, { from: toRfc3339(start), to: toRfc3339(end) })
    if (request === null) return
    starting.mutate(request, {
      onSuccess: (sweep) => void navigate({ to: '/simulator/$sweepId', params: { sweepId: sweep.id } }),
    })
  }
  return (
    <Panel title="New sweep" hint="replays a trace; nothing changes on any host" testId="new-sweep">
      <form className={classes.form} onSubmit={submit} aria-label="New sweep">
        <SourcePicker entry={entry} sources={sources.data} load={loadStateOf(sources)} onChange={set} />
        <PolicyPicker
          policies={policies.data?.policies}
          chosen={entry.policies}
          onChange={(next) => set({ policies: next })}
        />
        <RatioPicker chosen={entry.dramRatios} onChange={(dramRatios) => set({ dramRatios })} />
        <SettingsTable
          settings={policies.data === undefined ? [] : offeredSettings(policies.data, entry.policies)}
          values={entry.values}
          onChange={(name, typed) => set({ values: { ...entry.values, [name]: typed } })}
        />
        <fieldset className={classes.part}>
          <legend>Name and terms</legend>
          <div className={classes.row}>
            <TextField
              label="Name"
              placeholder={named.name}
              maxLength={200}
              w={280}
              value={entry.name}
              onText={(name) => set({ name })}
            />
            <NumberInput
              w={170}
              label="Price of slow memory"
              description={booked === null ? 'of DRAM’s, assumed' : 'of DRAM’s, price book'}
              suffix=" %"
              min={1}
              max={1000}
              value={slowPrice}
              onChange={(slowPrice) => set({ slowPrice })}
            />
            <NumberInput
              w={140}
              label="Price of swap"
              description="per byte, of DRAM’s"
              suffix=" %"
              min={0}
              max={1000}
              value={entry.swapPrice}
              onChange={(swapPrice) => set({ swapPrice })}
            />
            <NumberInput
              w={190}
              label="CPU time over the trace"
              description="optional; makes the loss exact"
              suffix=" s"
              min={0}
              value={entry.cpuSeconds}
              onChange={(cpuSeconds) => set({ cpuSeconds })}
            />
            <NumberInput
              w={150}
              label="Seed"
              description="optional: random faults"
              min={0}
              allowDecimal={false}
              value={entry.seed}
              onChange={(seed) => set({ seed })}
            />
          </div>
        </fieldset>
        <div className={classes.foot}>
          <LoginFirst may="write:sweeps" to="start a sweep">
            <Button type="submit" disabled={!ready} loading={starting.isPending}>
              Start sweep
            </Button>
          </LoginFirst>
          {policies.data !== undefined && <RunCount {...countRuns(entry, policies.data)} />}
        </div>
        {starting.error !== null && (
          <p className={classes.fault} role="alert">
            <Prose text={problemText(starting.error)} />
          </p>
        )}
      </form>
    </Panel>
  )
}

function RunCount({ grid, search }: { grid: number; search: number }) {
  return (
    <span data-testid="run-count">
      {formatCount(grid)} {grid === 1 ? 'run' : 'runs'} for the grid
      {search > 0 && `, ${formatCount(search)} for the knob search`}
    </span>
  )
}
