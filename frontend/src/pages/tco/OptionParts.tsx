import { Button, Select } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { Option } from '../../api/_generated/schema'
import { slowMemoryQuery } from '../../api/queries/ratio'
import { valueAt, type Json } from '../../lib/tco/scenarioSpec'
import { formatRatio } from '../../lib/units/units'
import { addedOption, removedOption, tierParts } from './optionEntry'
import classes from './TcoPage.module.css'
import type { ScenarioState } from './useScenario'
import { SwitchField, TextField } from '../../ui/inputs/fields'

interface OptionPartsProps {
  state: ScenarioState
  option: number
  /** The loss that the option was costed with, and where it is from. */
  loss: Option['loss'] | undefined
}

/** What an option is made of: its name, which tiers it has, what more memory is worth, and where its loss comes from. */
export function OptionParts({ state, option, loss }: OptionPartsProps) {
  const { spec } = state
  const path = `options.${option}`
  const options = valueAt(spec, 'options')
  const count = Array.isArray(options) ? options.length : 0
  if (spec === undefined) return null
  const choose = (next: { spec: typeof spec; option: number }) => {
    state.replace(next.spec)
    state.setSearch({ option: next.option === 0 ? undefined : next.option + 1 })
  }
  return (
    <div className={classes.parts}>
      <NameInput key={`${path}-${String(valueAt(spec, `${path}.name`))}`} state={state} path={`${path}.name`} />
      <div className={classes.tiers}>
        {tierParts.map(({ key, label, start }) => {
          const held = valueAt(spec, `${path}.${key}`) ?? null
          return (
            <SwitchField
              key={key}
              label={label}
              checked={held !== null}
              onChecked={(on) => state.put(`${path}.${key}`, on ? (start as Json) : null)}
            />
          )
        })}
      </div>
      <Select
        label="More memory than today’s"
        value={String(valueAt(spec, `${path}.capacity`) ?? 'same')}
        onChange={(value) => state.put(`${path}.capacity`, value)}
        data={[
          { value: 'same', label: 'is worth nothing' },
          { value: 'more', label: 'lets a host do more work' },
        ]}
      />
      <LossSource state={state} option={option} loss={loss} />
      <div className={classes.buttons}>
        <Button
          variant="default"
          size="compact-xs"
          disabled={count >= 8}
          onClick={() => choose(addedOption(spec, option))}
        >
          Add a copy
        </Button>
        <Button
          variant="default"
          size="compact-xs"
          disabled={count <= 1}
          onClick={() => choose(removedOption(spec, option))}
        >
          Remove this option
        </Button>
      </div>
    </div>
  )
}

function NameInput({ state, path }: { state: ScenarioState; path: string }) {
  const [name, setName] = useState(() => String(valueAt(state.spec, path) ?? ''))
  const settle = () => {
    const kept = name.trim()
    if (kept !== '' && kept !== valueAt(state.spec, path)) state.put(path, kept)
  }
  return (
    <TextField
      label="Name"
      maxLength={200}
      value={name}
      onText={setName}
      onBlur={settle}
      onKeyDown={(event) => {
        if (event.key === 'Enter') settle()
      }}
    />
  )
}

/** Where the loss comes from when it is no number of the scenario's own: ratio advice, or a run of the simulator. */
function LossSource({ state, option, loss }: OptionPartsProps) {
  const kind = valueAt(state.spec, `options.${option}.loss.kind`)
  if (kind === 'number') return null
  return (
    <>
      {kind !== 'sweep' && <LossDevice state={state} path={`options.${option}.loss.device`} />}
      {loss !== undefined && <LossWords state={state} option={option} loss={loss} />}
    </>
  )
}

/** Which slow memory the loss is beside. */
function LossDevice({ state, path }: { state: ScenarioState; path: string }) {
  const known = useQuery(slowMemoryQuery()).data ?? []
  return (
    <Select
      label="Slow memory of the loss"
      allowDeselect={false}
      value={String(valueAt(state.spec, path) ?? '')}
      onChange={(value) => state.put(path, value === '' ? null : value)}
      data={[
        { value: '', label: 'that of the hosts, else a usual one' },
        ...known.map(({ name, label }) => ({ value: name, label })),
      ]}
    />
  )
}

function LossWords({ state, option, loss }: { state: ScenarioState; option: number; loss: Option['loss'] }) {
  return (
    <p className={classes.words}>
      Lost throughput {formatRatio(loss.value)} ({formatRatio(loss.low)} – {formatRatio(loss.high)}) from {loss.source}
      {loss.simulated && ', simulated'}.{' '}
      <Button
        variant="default"
        size="compact-xs"
        onClick={() =>
          state.put(`options.${option}.loss`, { kind: 'number', value: loss.value, low: loss.low, high: loss.high })
        }
      >
        Set it by hand
      </Button>
    </p>
  )
}
