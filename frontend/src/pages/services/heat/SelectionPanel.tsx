import { ActionIcon, Button, CopyButton } from '@mantine/core'
import { IconCheck, IconLink, IconX } from '@tabler/icons-react'
import { useRouter } from '@tanstack/react-router'
import { useMemo } from 'react'
import { formatActivity, measureLabel, type HeatGrid } from '../../../lib/heat/heatGrid'
import { summariseSelection, type SelectedMapping } from '../../../lib/heat/heatSelection'
import { formatUtc, formatWindow, toRfc3339 } from '../../../lib/units/time'
import { formatBytes, formatRatio } from '../../../lib/units/units'
import type { Box } from '../../../lib/url/urlState'
import { Panel } from '../../../ui/layout/Panel'
import { Stack } from '../../../ui/layout/Stack'
import { EmptyState } from '../../../ui/states/EmptyState'
import type { Column } from '../../../ui/tables/column'
import { DataTable } from '../../../ui/tables/DataTable'
import { SelectionAgesPanels } from './SelectionAgesPanels'
import classes from './SelectionPanel.module.css'

const columns: Column<SelectedMapping>[] = [
  { key: 'kind', header: 'Kind', cell: (mapping) => mapping.kind },
  { key: 'mapping', header: 'Mapping', cell: (mapping) => <span className="ts-mono">{mapping.mapping}</span> },
  {
    key: 'offset',
    header: 'Offsets',
    numeric: true,
    cell: (mapping) => `${formatBytes(mapping.fromBytes)} – ${formatBytes(mapping.toBytes)}`,
  },
]

const mostRows = 40

function MappingList({ mappings }: { mappings: SelectedMapping[] }) {
  return (
    <DataTable
      label="Mappings in the selection"
      columns={columns}
      rows={mappings.slice(0, mostRows)}
      rowKey={(mapping) => `${mapping.kind}-${mapping.mapping}`}
    />
  )
}

interface SelectionPanelProps {
  serviceId: string
  grid: HeatGrid
  selection: Box
  /** The time range that the grid was read for: its list of rows is that of this range. */
  extent: Box
  onClose: () => void
  onZoom: () => void
}

/** What a selection of the heatmap holds: its cells summed up, the ages and re-access of its memory, its mappings. */
export function SelectionPanel({ serviceId, grid, selection, extent, onClose, onZoom }: SelectionPanelProps) {
  const router = useRouter()
  const box = useMemo(
    () => ({ ...selection, r0: selection.r0 / grid.rowsPerCell, r1: selection.r1 / grid.rowsPerCell }),
    [grid.rowsPerCell, selection],
  )
  const cells = useMemo(() => summariseSelection(grid, box), [grid, box])
  // A link with relative times would open other rows later: it names the range that these rows are of.
  const link = () =>
    window.location.origin +
    router.buildLocation({
      from: '/services/$serviceId',
      to: '.',
      search: (before) => ({
        ...before,
        from: toRfc3339(extent.t0),
        to: toRfc3339(extent.t1),
        host: grid.hostId,
        group: grid.group,
      }),
    }).href
  const actions = (
    <>
      <CopyButton value={link()}>
        {({ copied, copy }) => (
          <Button
            variant="default"
            aria-label="Copy link to this selection"
            onClick={copy}
            leftSection={copied ? <IconCheck size={14} aria-hidden /> : <IconLink size={14} aria-hidden />}
          >
            {copied ? 'Copied' : 'Copy link'}
          </Button>
        )}
      </CopyButton>
      <Button variant="default" onClick={onZoom}>
        Zoom to it
      </Button>
      <ActionIcon aria-label="Clear the selection" onClick={onClose}>
        <IconX size={16} />
      </ActionIcon>
    </>
  )
  if (cells === null) {
    return (
      <Panel title="Selection" actions={actions}>
        <EmptyState
          title="The selection lies outside this view"
          next="It belongs to another host, group or time. Clear it, or go back."
        />
      </Panel>
    )
  }
  const [first, last] = [new Date(cells.startSeconds * 1000), new Date(cells.endSeconds * 1000)]
  const shares = [
    ['active', cells.activeShare],
    ['idle', cells.idleShare],
    ['unsampled', cells.unsampledShare],
    ['not resident', cells.notResidentShare],
    ['not collected', cells.notCollectedShare],
  ] as const
  return (
    <Stack testId="selection-panel">
      <Panel
        title="Selection"
        hint={<span title={`${formatUtc(first)} – ${formatUtc(last)}`}>{formatWindow(first, last)}</span>}
        actions={actions}
      >
        <dl className={classes.list}>
          <dt>Address space</dt>
          <dd>
            {formatBytes(cells.bytes)} in {cells.rows} {cells.rows === 1 ? 'row' : 'rows'}
          </dd>
          <dt>Mean activity</dt>
          <dd>{cells.meanActivity === null ? 'unknown' : formatActivity(grid.measure, cells.meanActivity)}</dd>
          <dt>Peak activity</dt>
          <dd>{cells.peakActivity === null ? 'unknown' : formatActivity(grid.measure, cells.peakActivity)}</dd>
        </dl>
        <p className={classes.measure}>{measureLabel(grid.measure)}</p>
        <dl className={classes.list}>
          {shares
            .filter(([, share]) => share > 0)
            .map(([name, share]) => (
              <div key={name} className={classes.share}>
                <dt>{name}</dt>
                <dd>{formatRatio(share)}</dd>
              </div>
            ))}
        </dl>
      </Panel>
      <SelectionAgesPanels serviceId={serviceId} grid={grid} box={box} />
      <Panel title="Mappings" hint={`${cells.mappings.length} in the selection`} flush>
        <MappingList mappings={cells.mappings} />
      </Panel>
    </Stack>
  )
}
