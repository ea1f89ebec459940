import { NumberInput, Select, Switch, Textarea, TextInput } from '@mantine/core'
import classes from '../AlertsPage.module.css'
import { RuleTiming } from './RuleTiming'
import type { RuleEntry, RuleFieldsProps } from './ruleEntry'

/** All of a rule but its condition: name, subjects, timing, texts. */
export function RuleFields({ entry, placeholders, onChange }: RuleFieldsProps & { placeholders: string[] }) {
  return (
    <div className={classes.form}>
      <TextInput
        label="Name"
        required
        maxLength={100}
        value={entry.name}
        onChange={(event) => onChange({ name: event.currentTarget.value })}
      />
      <TextInput
        label="Group"
        maxLength={100}
        value={entry.group}
        onChange={(event) => onChange({ group: event.currentTarget.value })}
      />
      <Select
        label="Severity"
        allowDeselect={false}
        value={entry.severity}
        onChange={(value) => onChange({ severity: (value ?? 'warning') as RuleEntry['severity'] })}
        data={['info', 'warning', 'critical']}
      />
      <Switch
        size="xs"
        label="Enabled"
        checked={entry.enabled}
        onChange={(event) => onChange({ enabled: event.currentTarget.checked })}
      />
      <Scope entry={entry} onChange={onChange} />
      <RuleTiming entry={entry} onChange={onChange} />
      <TextInput
        className={classes.wide ?? ''}
        label="Summary"
        description={placeholders.length === 0 ? ' ' : `placeholders: {{ ${placeholders.join(' }}, {{ ')} }}`}
        maxLength={4000}
        value={entry.summary}
        onChange={(event) => onChange({ summary: event.currentTarget.value })}
      />
      <Textarea
        className={classes.wide ?? ''}
        size="xs"
        label="Description"
        resize="vertical"
        rows={2}
        maxLength={4000}
        value={entry.description}
        onChange={(event) => onChange({ description: event.currentTarget.value })}
      />
      <TextInput
        label="Labels"
        placeholder={'team="memory"'}
        value={entry.labels}
        onChange={(event) => onChange({ labels: event.currentTarget.value })}
      />
      <TextInput
        label="Runbook"
        type="url"
        placeholder="https://…"
        maxLength={500}
        value={entry.runbook}
        onChange={(event) => onChange({ runbook: event.currentTarget.value })}
      />
      <Select
        label="On no data"
        allowDeselect={false}
        value={entry.noData}
        onChange={(value) => onChange({ noData: (value ?? 'keep') as RuleEntry['noData'] })}
        data={[
          { value: 'keep', label: 'keep state' },
          { value: 'ok', label: 'resolve' },
          { value: 'alert', label: 'alert' },
        ]}
      />
      <NumberInput
        size="xs"
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
        allowDeselect={false}
        value={entry.kind}
        onChange={(kind) => onChange({ kind: (kind ?? 'host') as RuleEntry['kind'] })}
        data={[
          { value: 'host', label: 'each host' },
          { value: 'service', label: 'each service' },
          { value: 'fleet', label: 'the fleet as a whole' },
        ]}
      />
      <TextInput
        label="Hosts"
        placeholder="all"
        disabled={entry.kind === 'fleet'}
        value={entry.hosts}
        onChange={(event) => onChange({ hosts: event.currentTarget.value })}
      />
      <TextInput
        label="Services"
        placeholder="all"
        disabled={entry.kind === 'fleet'}
        value={entry.services}
        onChange={(event) => onChange({ services: event.currentTarget.value })}
      />
      <TextInput
        label="Host labels"
        placeholder={'rack="a12", sku!="old"'}
        value={entry.matchers}
        onChange={(event) => onChange({ matchers: event.currentTarget.value })}
      />
    </>
  )
}
