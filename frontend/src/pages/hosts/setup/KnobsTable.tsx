import { Text } from '@mantine/core'
import type { KnobInfo } from '../../../api/_generated/schema'
import { Nothing } from '../../../ui/states/Nothing'
import type { Column } from '../../../ui/tables/column'
import { DataTable } from '../../../ui/tables/DataTable'
import { SettingValue } from '../../../ui/text/SettingValue'

const columns: Column<KnobInfo>[] = [
  { key: 'path', header: 'Setting', cell: (knob) => <span className="ts-mono">{knob.path}</span> },
  {
    key: 'value',
    header: 'Value',
    cell: (knob) =>
      knob.value === null ? (
        <Nothing status="not_supported" reason={knob.unavailable ?? 'This kernel does not have it.'} />
      ) : (
        <>
          <SettingValue path={knob.path} value={knob.value} />
          {knob.choices.length > 0 && (
            <Text span size="sm" c="dimmed">
              {` of ${knob.choices.join(', ')}`}
            </Text>
          )}
        </>
      ),
  },
  { key: 'why', header: 'Why not', cell: (knob) => knob.unavailable ?? '' },
]

/** Kernel settings; those that do not exist or cannot be read say why. */
export function KnobsTable({ knobs }: { knobs: KnobInfo[] | undefined }) {
  return (
    <DataTable
      label="Kernel settings"
      columns={columns}
      rows={knobs}
      rowKey={(knob) => knob.path}
      empty={{ title: 'No settings to show', next: 'Clear the filter; the agent sends settings with its inventory.' }}
    />
  )
}
