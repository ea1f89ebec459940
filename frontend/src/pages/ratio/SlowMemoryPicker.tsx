import { Group, NumberInput, Select } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { slowMemoryQuery, type RatioChoice } from '../../api/queries/ratio'

const own = 'own'
/** Where someone who has a device at hand begins. */
const start = { latencyNs: 250, gbPerS: undefined }

interface SlowMemoryPickerProps {
  device: RatioChoice['device']
  onDevice: (device: RatioChoice['device']) => void
}

/** For which slow memory the ratio is asked: that of the hosts, a known kind, or one of this latency and bandwidth. */
export function SlowMemoryPicker({ device, onDevice }: SlowMemoryPickerProps) {
  const query = useQuery(slowMemoryQuery())
  const mine = typeof device === 'object' ? device : undefined
  const chosen = query.data?.find(({ name }) => name === device)
  return (
    <Group gap={8} wrap="wrap">
      <Select
        aria-label="Slow memory"
        allowDeselect={false}
        w={290}
        value={typeof device === 'object' ? own : (device ?? '')}
        onChange={(value) => onDevice(value === own ? start : value === null || value === '' ? undefined : value)}
        data={[
          { value: '', label: 'slow memory of its hosts' },
          ...(query.data ?? []).map(({ name, label }) => ({ value: name, label })),
          { value: own, label: 'another: latency and bandwidth' },
        ]}
      />
      {chosen !== undefined && (
        <span data-testid="slow-memory-source">
          {chosen.idle_ns} ns{chosen.gb_per_s === null ? '' : `, ${chosen.gb_per_s} GB/s`} · {chosen.source},{' '}
          {chosen.date}
        </span>
      )}
      {mine !== undefined && (
        <>
          <NumberInput
            aria-label="Idle latency"
            w={120}
            min={1}
            suffix=" ns"
            value={mine.latencyNs}
            onChange={(value) => Number(value) > 0 && onDevice({ ...mine, latencyNs: Number(value) })}
          />
          <NumberInput
            aria-label="Bandwidth"
            placeholder="GB/s, if known"
            w={140}
            min={1}
            suffix=" GB/s"
            value={mine.gbPerS ?? ''}
            onChange={(value) => onDevice({ ...mine, gbPerS: Number(value) > 0 ? Number(value) : undefined })}
          />
          <span>
            as <code>tierscope-agent bench</code> measures it
          </span>
        </>
      )}
    </Group>
  )
}
