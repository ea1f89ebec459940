import { NumberInput, Select } from '@mantine/core'
import classes from '../AlertsPage.module.css'
import type { RuleEntry, RuleFieldsProps } from './ruleEntry'
import { SwitchField, TextField } from '../../../ui/inputs/fields'

/** How long a condition must hold, how it ends, and how many of the newest minutes must agree. */
export function RuleTiming({ entry, onChange }: RuleFieldsProps) {
  return (
    <>
      <NumberInput
        label="for"
        description="held before it fires"
        suffix=" min"
        min={0}
        max={10_080}
        allowDecimal={false}
        value={entry.forMinutes}
        onChange={(forMinutes) => onChange({ forMinutes })}
      />
      <NumberInput
        label="keep_firing_for"
        description="fires on after it ends"
        suffix=" min"
        min={0}
        max={10_080}
        allowDecimal={false}
        value={entry.keepMinutes}
        onChange={(keepMinutes) => onChange({ keepMinutes })}
      />
      <Select
        label="Recovery"
        value={entry.recovery}
        onChange={(value) => onChange({ recovery: (value ?? 'none') as RuleEntry['recovery'] })}
        data={[
          { value: 'none', label: 'when the condition ends' },
          { value: 'threshold', label: 'beyond a threshold' },
          { value: 'expression', label: 'on another condition' },
        ]}
      />
      {entry.recovery === 'threshold' && (
        <TextField
          label="Recovery threshold"
          placeholder="8%"
          value={entry.recoveryThreshold}
          onText={(recoveryThreshold) => onChange({ recoveryThreshold })}
        />
      )}
      {entry.recovery === 'expression' && (
        <TextField
          className={classes.wide ?? ''}
          label="Recovery condition"
          placeholder="free_dram_ratio > 8%"
          value={entry.recoveryExpression}
          onText={(recoveryExpression) => onChange({ recoveryExpression })}
        />
      )}
      <SwitchField
        label="Require n of the last m minutes"
        checked={entry.counted}
        onChecked={(counted) => onChange({ counted })}
      />
      {entry.counted && (
        <>
          <NumberInput label="n" min={1} max={60} value={entry.n} onChange={(n) => onChange({ n })} />
          <NumberInput label="m" min={1} max={60} value={entry.m} onChange={(m) => onChange({ m })} />
        </>
      )}
    </>
  )
}
