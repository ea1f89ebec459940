import { useElementSize } from '@mantine/hooks'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { useCallback, useMemo, useRef, useState } from 'react'
import type { ServiceDetail } from '../../../api/_generated/schema'
import { hostsQuery } from '../../../api/queries/fleet/hosts'
import { loadStateOf } from '../../../api/queries/base/loadState'
import { tilesQuery } from '../../../api/queries/heat/tiles'
import type { ChartMark } from '../../../charts/eventMarks'
import { HeatmapChart } from '../../../charts/heatmap/HeatmapChart'
import { heatmapMargins } from '../../../charts/heatmap/figure'
import { granularityWords, shortMethodName } from '../../../lib/units/figure'
import { clampBox, fetchRange, isWhole } from '../../../lib/heat/heatView'
import { formatDuration, toRfc3339 } from '../../../lib/units/time'
import { resolveRange } from '../../../lib/url/timeRange'
import { formatBytes } from '../../../lib/units/units'
import { readBox, writeBox, type Box } from '../../../lib/url/urlState'
import { useNow } from '../../shell/time/useNow'
import { useTimeRange } from '../../shell/time/useTimeRange'
import { HeatmapControls } from './HeatmapControls'
import classes from './HeatmapTab.module.css'
import { SelectionPanel } from './SelectionPanel'

const route = getRouteApi('/services/$serviceId')
const height = 620
/** View changes within this time are one step of the browser's history. */
const coalesceMs = 1500

interface HeatmapTabProps {
  serviceId: string
  service: ServiceDetail | undefined
  marks: ChartMark[]
}

/** Activity by time and address region on one host, with a panel for what is selected. */
export function HeatmapTab({ serviceId, service, marks }: HeatmapTabProps) {
  const { host, group, zoom, sel } = route.useSearch()
  const navigate = route.useNavigate()
  const { range } = useTimeRange()
  const now = useNow(30_000)
  const { ref, width } = useElementSize()
  const [brush, setBrush] = useState(false)
  const lastZoomAt = useRef(0)

  const { start, end } = resolveRange(range.from, range.to, now.getTime() / 1000)
  const zoomed = useMemo(() => readBox(zoom), [zoom])
  const selection = useMemo(() => readBox(sel), [sel])
  const fetched = zoomed === null ? null : fetchRange(zoomed, { t0: start, t1: end, r0: 0, r1: 1 })
  const margins = heatmapMargins(width)
  const columns = Math.max(60, Math.min(2000, Math.round(width - margins.l - margins.r)))
  const query = useQuery({
    ...tilesQuery(
      serviceId,
      {
        host,
        group,
        maxRows: zoomed === null ? 512 : 1024,
        maxColumns: fetched === null ? columns : Math.min(2000, columns * 2),
      },
      fetched === null ? range : { ...range, from: toRfc3339(fetched.t0), to: toRfc3339(fetched.t1) },
    ),
    enabled: width > 0,
  })
  const hosts = useQuery(hostsQuery(null, serviceId))
  const grid = query.data
  const rows = grid === undefined ? 1 : grid.rows.length * grid.rowsPerCell
  const extent = useMemo((): Box => ({ t0: start, t1: end, r0: 0, r1: Math.max(1, rows) }), [start, end, rows])
  const box = useMemo(() => (zoomed === null ? extent : clampBox(zoomed, extent)), [zoomed, extent])

  const setBox = useCallback(
    (next: Box) => {
      const clamped = clampBox(next, extent)
      const replace = performance.now() - lastZoomAt.current < coalesceMs
      lastZoomAt.current = performance.now()
      void navigate({
        search: (before) => ({ ...before, zoom: isWhole(clamped, extent) ? undefined : writeBox(clamped) }),
        replace,
        resetScroll: false,
      })
    },
    [extent, navigate],
  )
  const setSelection = useCallback(
    (next: Box | null) => {
      void navigate({
        search: (before) => ({ ...before, sel: next === null ? undefined : writeBox(next) }),
        resetScroll: false,
      })
    },
    [navigate],
  )
  const choose = (next: { host?: string | undefined; group?: string | undefined }) =>
    void navigate({ search: (before) => ({ ...before, zoom: undefined, sel: undefined, ...next }), resetScroll: false })

  const nothing = grid !== undefined && (grid.rows.length === 0 || grid.columnEnds.length === 0)
  const hostNames = new Map(hosts.data?.items.map((item) => [item.id, item.name]))
  return (
    <div className={classes.layout} data-open={selection !== null}>
      <div ref={ref} className={classes.main}>
        <HeatmapChart
          grid={nothing ? undefined : grid}
          load={loadStateOf(query)}
          box={box}
          extent={extent}
          selection={selection}
          brush={brush}
          height={height}
          width={width}
          marks={marks}
          hint={
            grid === undefined
              ? '\u00a0'
              : `${shortMethodName(grid.backend)}, ${granularityWords(grid.granularity)} · ${formatDuration(grid.columnSeconds)} a column · ${formatBytes(grid.regionBytes * grid.rowsPerCell)} a row${grid.notes.length > 0 ? ` · ${grid.notes.join(' ')}` : ''}`
          }
          empty={
            nothing
              ? {
                  title: 'No heat tiles in this time range',
                  next:
                    grid.notes[0] ??
                    service?.heat_reason ??
                    'Widen the time range, or choose a host that measures heat (Hosts tab).',
                }
              : null
          }
          onBox={setBox}
          onSelect={setSelection}
          onBrush={setBrush}
          controls={
            <HeatmapControls
              host={host ?? grid?.hostId}
              group={group ?? grid?.group}
              hosts={(grid?.hosts ?? hosts.data?.items.map((item) => item.id) ?? []).map((id) => ({
                value: id,
                label: hostNames.get(id) ?? id,
              }))}
              groups={grid?.groups ?? []}
              brush={brush}
              box={box}
              extent={extent}
              onChoose={choose}
              onBrush={setBrush}
              onBox={setBox}
            />
          }
        />
      </div>
      {selection !== null && grid !== undefined && (
        <SelectionPanel
          serviceId={serviceId}
          grid={grid}
          selection={selection}
          onClose={() => setSelection(null)}
          onZoom={() => setBox(selection)}
        />
      )}
    </div>
  )
}
