import { SegmentedControl, Select, Skeleton } from '@mantine/core'
import type { SimulatorSources } from '../../../api/_generated/schema'
import type { LoadState } from '../../../lib/loadState'
import { formatWindow } from '../../../lib/units/time'
import { formatCount, formatRatio } from '../../../lib/units/units'
import { EmptyState } from '../../../ui/states/EmptyState'
import { ProblemState } from '../../../ui/states/ProblemState'
import classes from '../SimulatorPage.module.css'
import type { SourceKind, SweepEntry } from './sweepEntry'
import { TraceUpload } from './TraceUpload'
import { SwitchField } from '../../../ui/inputs/fields'

interface SourcePickerProps {
  entry: SweepEntry
  sources: SimulatorSources | undefined
  load: LoadState
  onChange: (change: Partial<SweepEntry>) => void
}

const kinds: { value: SourceKind; label: string }[] = [
  { value: 'service', label: 'Page sample of a service' },
  { value: 'workload', label: 'Synthetic workload' },
  { value: 'upload', label: 'Uploaded trace' },
]

/** What is replayed: a service's own page sample, a synthetic workload, or a trace file. */
export function SourcePicker({ entry, sources, load, onChange }: SourcePickerProps) {
  const body = () => {
    if (load.problem !== null && sources === undefined) {
      return <ProblemState problem={load.problem} onRetry={load.retry} />
    }
    if (sources === undefined) return <Skeleton height={56} />
    switch (entry.kind) {
      case 'service':
        return <ServiceSource entry={entry} sources={sources} onChange={onChange} />
      case 'workload':
        return <WorkloadSource entry={entry} sources={sources} onChange={onChange} />
      case 'upload':
        return (
          <TraceUpload
            uploads={sources.uploads}
            chosen={entry.upload}
            onChoose={(upload) => onChange({ upload, name: entry.name })}
          />
        )
    }
  }
  return (
    <fieldset className={classes.part}>
      <legend>Trace</legend>
      <SegmentedControl
        aria-label="Kind of trace"
        className={classes.kinds ?? ''}
        value={entry.kind}
        onChange={(kind) => onChange({ kind: kinds.find(({ value }) => value === kind)?.value ?? 'service' })}
        data={kinds}
      />
      {body()}
    </fieldset>
  )
}

interface SourceProps {
  entry: SweepEntry
  sources: SimulatorSources
  onChange: (change: Partial<SweepEntry>) => void
}

function ServiceSource({ entry, sources, onChange }: SourceProps) {
  const service = sources.services.find((found) => found.service_id === entry.service)
  const host = service?.hosts.find((found) => found.host_id === entry.host)
  const shown = host ?? service?.hosts[0]
  if (sources.services.length === 0) {
    return (
      <EmptyState
        title="No service has a page sample"
        next="Samples come from hosts whose heat is measured page by page (`tierscope agent doctor` says what a host can do). Until then choose a synthetic workload, or upload a trace."
      />
    )
  }
  return (
    <>
      <div className={classes.row}>
        <Select
          allowDeselect
          label="Service"
          searchable
          w={260}
          value={entry.service}
          onChange={(value) => onChange({ service: value, host: null })}
          data={sources.services.map((found) => ({
            value: found.service_id,
            label: found.origin === 'simulated' ? `${found.name} (simulated)` : found.name,
          }))}
        />
        <Select
          allowDeselect
          label="Host"
          w={260}
          disabled={service === undefined}
          placeholder="all sampled hosts"
          clearable
          value={entry.host}
          onChange={(value) => onChange({ host: value })}
          data={(service?.hosts ?? []).map((found) => ({ value: found.host_id, label: found.name }))}
        />
        <SwitchField
          label="Only the time range at the top"
          checked={entry.inRange}
          onChecked={(inRange) => onChange({ inRange })}
        />
      </div>
      {service !== undefined && shown !== undefined && (
        <p className={classes.facts}>
          {host === undefined && service.hosts.length > 1 ? `${service.hosts.length} hosts, the first: ` : ''}
          {formatCount(shown.n_pages)} pages sampled ({formatRatio(shown.sampled_ratio)} of all, counts are scaled up),{' '}
          {formatCount(shown.n_intervals)} intervals, {formatWindow(new Date(shown.from), new Date(shown.to))}
        </p>
      )}
    </>
  )
}

function WorkloadSource({ entry, sources, onChange }: SourceProps) {
  const workload = sources.workloads.find(({ name }) => name === entry.workload)
  return (
    <>
      <Select
        allowDeselect
        label="Workload"
        searchable
        maw={420}
        value={entry.workload}
        onChange={(value) => onChange({ workload: value })}
        data={sources.workloads.map(({ name, label }) => ({ value: name, label }))}
      />
      {workload !== undefined && (
        <div className={classes.facts} data-testid="workload-facts">
          <p>Synthetic, made from a seed. {workload.source}</p>
          {workload.parameters.length > 0 && (
            <dl>
              {workload.parameters.map(({ name, value }) => (
                <div key={name}>
                  <dt>{name}</dt>
                  <dd>{value}</dd>
                </div>
              ))}
            </dl>
          )}
          {workload.measured.length > 0 && (
            <>
              <p>Measured on real hosts, not by this simulator:</p>
              <ul>
                {workload.measured.map((statement) => (
                  <li key={statement}>{statement}</li>
                ))}
              </ul>
            </>
          )}
        </div>
      )}
    </>
  )
}
