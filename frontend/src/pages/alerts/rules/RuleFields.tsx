import { NumberInput, Select } from '@mantine/core'
import classes from '../AlertsPage.module.css'
import { RuleTiming } from './RuleTiming'
import type { RuleEntry, RuleFieldsProps } from './ruleEntry'
import { SwitchField, TextAreaField, TextField } from '../../../ui/inputs/fields'

/** All of a rule but its condition: name, subjects, timing, texts. */
export function RuleFields({ entry, placeholders, onChange }: RuleFieldsProps & { placeholders: string[] }) {
  return (
    <div className={classes.form}>
      <TextField label="Name" required maxLength={100} value={entry.name} onText={(name) => onChange({ name })} />
      <TextField label="Group" maxLength={100} value={entry.group} onText={(group) => onChange({ group })} />
      <Select
        label="Severity"
        value={entry.severity}
        onChange={(value) => onChange({ severity: (value ?? 'warning') as RuleEntry['severity'] })}
        data={['info', 'warning', 'critical']}
      />
      <SwitchField label="Enabled" checked={entry.enabled} onChecked={(enabled) => onChange({ enabled })} />
      <Scope entry={entry} onChange={onChange} />
      <RuleTiming entry={entry} onChange={onChange} />
      <TextField
        className={classes.wide ?? ''}
        label="Summary"
        description={placeholders.length === 0 ? ' ' : `placeholders: {{ ${placeholders.join(' }}, {{ ')} }}`}
        maxLength={4000}
        value={entry.summary}
        onText={(summary) => onChange({ summary })}
      />
      <TextAreaField
        className={classes.wide ?? ''}
        label="Description"
        resize="vertical"
        rows={2}
        maxLength={4000}
        value={entry.description}
        onText={(description) => onChange({ description })}
      />
      <TextField
        label="Labels"
        placeholder={'team="memory"'}
        value={entry.labels}
        onText={(labels) => onChange({ labels })}
      />
      <TextField
        label="Runbook"
        type="url"
        placeholder="https://…"
        maxLength={500}
        value={entry.runbook}
        onText={(runbook) => onChange({ runbook })}
      />
      <Select
        label="On no data"
        value={entry.noData}
        onChange={(value) => onChange({ noData: (value ?? 'keep') as RuleEntry['noData'] })}
        data={[
          { value: 'keep', label: 'keep state' },
          { value: 'ok', label: 'resolve' },
          { value: 'alert', label: 'alert' },
        ]}
      />
      <NumberInput
        label="No data after"
        suffix=" min"
        min={1}
        allowDecimal={false}
        value={entry.noDataMinutes}
        onChange={(noDataMinutes) => onChange({ noDataMinutes })}
      />
    </div>
  )
}

function Scope({ entry, onChange }: RuleFieldsProps) {
  return (
    <>
      <Select
        label="Applies to"
        value={entry.kind}
        onChange={(kind) => onChange({ kind: (kind ?? 'host') as RuleEntry['kind'] })}
        data={[
          { value: 'host', label: 'each host' },
          { value: 'service', label: 'each service' },
          { value: 'fleet', label: 'the fleet as a whole' },
        ]}
      />
      <TextField
        label="Hosts"
        placeholder="all"
        disabled={entry.kind === 'fleet'}
        value={entry.hosts}
        onText={(hosts) => onChange({ hosts })}
      />
      <TextField
        label="Services"
        placeholder="all"
        disabled={entry.kind === 'fleet'}
        value={entry.services}
        onText={(services) => onChange({ services })}
      />
      <TextField
        label="Host labels"
        placeholder={'rack="a12", sku!="old"'}
        value={entry.matchers}
        onText={(matchers) => onChange({ matchers })}
      />
    </>
  )
}
