import { NumberInput, Select, Switch, TextInput } from '@mantine/core'
import classes from '../AlertsPage.module.css'
import type { RuleEntry, RuleFieldsProps } from './ruleEntry'

/** How long a condition must hold, how it ends, and how many of the newest minutes must agree. */
export function RuleTiming({ entry, onChange }: RuleFieldsProps) {
  return (
    <>
      <NumberInput
        size="xs"
        label="for"
        suffix=" min"
        min={0}
        max={10_080}
        allowDecimal={false}
        value={entry.forMinutes}
        onChange={(forMinutes) => onChange({ forMinutes })}
      />
      <NumberInput
        size="xs"
        label="keep_firing_for"
        suffix=" min"
        min={0}
        max={10_080}
        allowDecimal={false}
        value={entry.keepMinutes}
        onChange={(keepMinutes) => onChange({ keepMinutes })}
      />
      <Select
        label="Recovery"
        allowDeselect={false}
        value={entry.recovery}
        onChange={(value) => onChange({ recovery: (value ?? 'none') as RuleEntry['recovery'] })}
        data={[
          { value: 'none', label: 'when the condition ends' },
          { value: 'threshold', label: 'beyond a threshold' },
          { value: 'expression', label: 'on another condition' },
        ]}
      />
      {entry.recovery === 'threshold' && (
        <TextInput
          label="Recovery threshold"
          placeholder="8%"
          value={entry.recoveryThreshold}
          onChange={(event) => onChange({ recoveryThreshold: event.currentTarget.value })}
        />
      )}
      {entry.recovery === 'expression' && (
        <TextInput
          className={classes.wide ?? ''}
          label="Recovery condition"
          placeholder="free_dram_ratio > 8%"
          value={entry.recoveryExpression}
          onChange={(event) => onChange({ recoveryExpression: event.currentTarget.value })}
        />
      )}
      <Switch
        size="xs"
        label="Require n of the last m minutes"
        checked={entry.counted}
        onChange={(event) => onChange({ counted: event.currentTarget.checked })}
      />
      {entry.counted && (
        <>
          <NumberInput size="xs" label="n" min={1} max={60} value={entry.n} onChange={(n) => onChange({ n })} />
          <NumberInput size="xs" label="m" min={1} max={60} value={entry.m} onChange={(m) => onChange({ m })} />
        </>
      )}
    </>
  )
}
