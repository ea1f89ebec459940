import { Group, SegmentedControl, Select, Tooltip } from '@mantine/core'
import type { SchemeName } from '../../../lib/url/urlState'

const names: Record<SchemeName, { label: string; meaning: string }> = {
  recency: { label: 'Recency', meaning: 'Hot: active within the newest intervals.' },
  frequency: { label: 'Frequency', meaning: 'Hot: active in many of the last 10 intervals.' },
  cold_age: { label: 'Cold age', meaning: 'Cold: idle for at least so many intervals.' },
}

const thresholds: Record<SchemeName, number[]> = {
  recency: [1, 2, 3, 5, 10, 20, 40, 64],
  frequency: [1, 2, 3, 5, 8, 10],
  cold_age: [1, 2, 3, 5, 10, 20, 40, 64],
}

interface SchemeControlProps {
  scheme: SchemeName
  threshold: number | undefined
  onChange: (scheme: SchemeName, threshold: number | undefined) => void
}

/** Which scheme classes memory as hot, warm and cold, and from which threshold. */
export function SchemeControl({ scheme, threshold, onChange }: SchemeControlProps) {
  const find = (value: string): SchemeName => (value === 'frequency' || value === 'cold_age' ? value : 'recency')
  return (
    <Group gap={8} wrap="wrap">
      <SegmentedControl
        aria-label="Scheme"
        data-testid="scheme"
        value={scheme}
        onChange={(value) => onChange(find(value), undefined)}
        data={Object.entries(names).map(([value, { label, meaning }]) => ({
          value,
          label: (
            <Tooltip label={meaning}>
              <span>{label}</span>
            </Tooltip>
          ),
        }))}
      />
      <Select
        aria-label="Threshold"
        w={150}
        value={threshold === undefined ? 'default' : String(threshold)}
        onChange={(value) => onChange(scheme, value === null || value === 'default' ? undefined : Number(value))}
        data={[
          { value: 'default', label: 'default threshold' },
          ...thresholds[scheme].map((value) => ({
            value: String(value),
            label: `${value} interval${value === 1 ? '' : 's'}`,
          })),
        ]}
      />
    </Group>
  )
}
