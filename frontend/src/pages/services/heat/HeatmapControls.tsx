import { ActionIcon, SegmentedControl, Select, Tooltip } from '@mantine/core'
import { IconMaximize, IconMinus, IconPlus } from '@tabler/icons-react'
import type { EventItem } from '../../../api/_generated/schema'
import { writeComparison } from '../../../lib/comparison'
import { zoomBox } from '../../../lib/heat/heatView'
import type { Box, ServiceSearch } from '../../../lib/url/urlState'
import { CompareSelect } from '../../shell/time/CompareSelect'
import { DamoRecordButton } from './DamoRecordButton'
import classes from './HeatmapTab.module.css'

interface HeatmapControlsProps {
  host: string | undefined
  group: string | undefined
  hosts: { value: string; label: string }[]
  groups: string[]
  brush: boolean
  fullScale: boolean
  split: boolean
  /** What it is compared with, as the URL has it. */
  compare: string | undefined
  events: EventItem[]
  /** Whether the memory is of more than one page kind. */
  hasKinds: boolean
  box: Box
  extent: Box
  /** Reads what is shown as a record of damo; null where nothing is. */
  readRecord: (() => Promise<Blob>) | null
  onChoose: (next: Partial<ServiceSearch>) => void
  onBrush: (brush: boolean) => void
  onBox: (box: Box) => void
}

/** A view and a selection are places in one list of rows: other memory has other ones. */
const elsewhere = { zoom: undefined, sel: undefined }

/** What the heatmap shows, how it is coloured, what dragging does, and zoom for those who do not use the wheel. */
export function HeatmapControls(props: HeatmapControlsProps) {
  const {
    host,
    group,
    hosts,
    groups,
    brush,
    fullScale,
    split,
    compare,
    events,
    hasKinds,
    box,
    extent,
    readRecord,
    onChoose,
    onBrush,
    onBox,
  } = props
  return (
    <div className={classes.controls}>
      <Select
        aria-label="Host"
        data-testid="heatmap-host"
        w={160}
        searchable
        placeholder="Host"
        data={hosts}
        value={host ?? null}
        onChange={(value) =>
          onChoose({
            ...elsewhere,
            host: value ?? undefined,
            group: undefined,
            compare: value !== null && compare === writeComparison('host', value) ? undefined : compare,
          })
        }
      />
      {groups.length > 1 && (
        <Select
          aria-label="Process group"
          w={150}
          data={groups}
          value={group ?? null}
          onChange={(value) => onChoose({ ...elsewhere, group: value ?? undefined })}
        />
      )}
      <CompareSelect
        compare={compare}
        noun="host"
        others={hosts.filter(({ value }) => value !== host)}
        events={events}
        unlisted="what has no tiles here"
        testId="heatmap-compare"
        onChoose={(next) => onChoose({ compare: next })}
      />
      {(hasKinds || split) && (
        <SegmentedControl
          aria-label="Page kinds"
          value={split ? 'split' : 'one'}
          onChange={(value) => onChoose({ kinds: value === 'split' ? 'split' : undefined })}
          data={[
            { value: 'one', label: 'One map' },
            { value: 'split', label: 'By kind' },
          ]}
        />
      )}
      <SegmentedControl
        aria-label="Colour scale"
        value={fullScale ? 'full' : 'view'}
        onChange={(value) => onChoose({ scale: value === 'full' ? 'full' : undefined })}
        data={[
          { value: 'view', label: 'p2–p98 in view' },
          { value: 'full', label: 'Full range' },
        ]}
      />
      <SegmentedControl
        aria-label="Dragging"
        value={brush ? 'select' : 'pan'}
        onChange={(value) => onBrush(value === 'select')}
        data={[
          { value: 'pan', label: 'Pan' },
          { value: 'select', label: 'Select' },
        ]}
      />
      <div className={classes.zoom}>
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
      </div>
      {readRecord !== null && <DamoRecordButton read={readRecord} />}
      <span className={classes.keys}>Ctrl or ⌘ + wheel zooms</span>
    </div>
  )
}
