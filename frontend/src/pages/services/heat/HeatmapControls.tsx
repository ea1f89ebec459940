import { ActionIcon, SegmentedControl, Select, Tooltip } from '@mantine/core'
import { IconMaximize, IconMinus, IconPlus } from '@tabler/icons-react'
import { zoomBox } from '../../../lib/heat/heatView'
import type { Box } from '../../../lib/url/urlState'

interface HeatmapControlsProps {
  host: string | undefined
  group: string | undefined
  hosts: { value: string; label: string }[]
  groups: string[]
  brush: boolean
  box: Box
  extent: Box
  onChoose: (next: { host?: string | undefined; group?: string | undefined }) => void
  onBrush: (brush: boolean) => void
  onBox: (box: Box) => void
}

/** Host and process group of the heatmap, what dragging does, and zoom for those who do not use the wheel. */
export function HeatmapControls(props: HeatmapControlsProps) {
  const { host, group, hosts, groups, brush, box, extent, onChoose, onBrush, onBox } = props
  return (
    <>
      <Select
        aria-label="Host"
        data-testid="heatmap-host"
        w={170}
        searchable
        placeholder="Host"
        data={hosts}
        value={host ?? null}
        onChange={(value) => onChoose({ host: value ?? undefined, group: undefined })}
        allowDeselect={false}
      />
      {groups.length > 1 && (
        <Select
          aria-label="Process group"
          w={150}
          data={groups}
          value={group ?? null}
          onChange={(value) => onChoose({ group: value ?? undefined })}
          allowDeselect={false}
        />
      )}
      <SegmentedControl
        aria-label="Dragging"
        value={brush ? 'select' : 'pan'}
        onChange={(value) => onBrush(value === 'select')}
        data={[
          { value: 'pan', label: 'Pan' },
          { value: 'select', label: 'Select' },
        ]}
      />
      <Tooltip label="Zoom in (+)">
        <ActionIcon aria-label="Zoom in" onClick={() => onBox(zoomBox(box, 0.6, extent))}>
          <IconPlus size={16} />
        </ActionIcon>
      </Tooltip>
      <Tooltip label="Zoom out (−)">
        <ActionIcon aria-label="Zoom out" onClick={() => onBox(zoomBox(box, 1 / 0.6, extent))}>
          <IconMinus size={16} />
        </ActionIcon>
      </Tooltip>
      <Tooltip label="Show all (0)">
        <ActionIcon aria-label="Show all" onClick={() => onBox(extent)}>
          <IconMaximize size={16} />
        </ActionIcon>
      </Tooltip>
    </>
  )
}
