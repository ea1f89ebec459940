import { Button, MultiSelect, NumberInput, Select } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import type { FormEvent } from 'react'
import { problemText } from '../../api/problem'
import { scheduleReport } from '../../api/queries/capacity/reports'
import { Panel } from '../../ui/layout/Panel'
import { Prose } from '../../ui/text/Prose'
import classes from './CapacityPage.module.css'
import { reportRequestOf, reportSections, type ReportEntry } from './reportEntry'
import { TextField } from '../../ui/inputs/fields'

const formats = [
  { value: 'html', label: 'HTML' },
  { value: 'pdf', label: 'PDF' },
  { value: 'both', label: 'HTML and PDF' },
] as const

/** A new scheduled report. */
export function ReportForm({ entry, onChange }: { entry: ReportEntry; onChange: (entry: ReportEntry) => void }) {
  const queries = useQueryClient()
  const adding = useMutation(scheduleReport(queries))
  const request = reportRequestOf(entry)
  const set = (change: Partial<ReportEntry>) => onChange({ ...entry, ...change })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (request !== null) adding.mutate(request)
  }
  return (
    <Panel title="New report" hint="by mail, to a webhook, or both">
      <form className={classes.form} onSubmit={submit} aria-label="New report">
        <TextField label="Name" maxLength={120} value={entry.name} onText={(name) => set({ name })} />
        <NumberInput
          label="Every"
          suffix=" days"
          min={1}
          max={366}
          allowDecimal={false}
          value={entry.everyDays}
          onChange={(everyDays) => set({ everyDays })}
        />
        <TextField label="At (UTC)" type="time" value={entry.at} onText={(at) => set({ at })} />
        <Select
          label="Format"
          value={entry.format}
          onChange={(value) => set({ format: formats.find((known) => known.value === value)?.value ?? 'both' })}
          data={[...formats]}
        />
        <MultiSelect
          className={classes.wide ?? ''}
          label="Sections"
          value={entry.sections}
          onChange={(chosen) =>
            set({ sections: reportSections.map(({ value }) => value).filter((value) => chosen.includes(value)) })
          }
          data={[...reportSections]}
        />
        <TextField
          className={classes.wide ?? ''}
          label="Email addresses"
          value={entry.mail}
          onText={(mail) => set({ mail })}
        />
        <TextField
          className={classes.wide ?? ''}
          label="Webhook"
          placeholder="https://…"
          value={entry.webhook}
          onText={(webhook) => set({ webhook })}
        />
        <Button type="submit" disabled={request === null} loading={adding.isPending}>
          Schedule
        </Button>
        {adding.error !== null && (
          <p role="alert" className={classes.fault}>
            <Prose text={problemText(adding.error)} />
          </p>
        )}
      </form>
    </Panel>
  )
}
