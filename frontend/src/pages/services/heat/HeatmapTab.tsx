import { useElementSize } from '@mantine/hooks'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { useEffect, useMemo, useState } from 'react'
import type { ServiceDetail } from '../../../api/_generated/schema'
import { hostsQuery } from '../../../api/queries/fleet/hosts'
import { loadStateOf } from '../../../api/queries/base/loadState'
import { damoRecordOf, tilesQuery } from '../../../api/queries/heat/tiles'
import { ActivityHeatmap } from '../../../charts/heatmap/ActivityHeatmap'
import { activityLegend } from '../../../charts/heatmap/drawing'
import { heatmapMargins } from '../../../charts/heatmap/figure'
import { lanes } from '../../../charts/heatmap/lanes'
import { colourRange, wholeRange } from '../../../lib/heat/colourRange'
import type { HeatGrid } from '../../../lib/heat/heatGrid'
import { fetchRange, fetchRows } from '../../../lib/heat/heatView'
import { granularityWords, shortMethodName } from '../../../lib/units/figure'
import { formatDuration, toRfc3339 } from '../../../lib/units/time'
import { resolveRange } from '../../../lib/url/timeRange'
import { formatBytes } from '../../../lib/units/units'
import { readBox } from '../../../lib/url/urlState'
import { useChartTheme } from '../../../ui/theme/useChartTheme'
import type { EventMarks } from '../../shell/time/useEventMarks'
import { useNow } from '../../shell/time/useNow'
import { useTimeRange } from '../../shell/time/useTimeRange'
import { ComparedPanels } from './ComparedPanels'
import { HeatmapControls } from './HeatmapControls'
import { HeatmapPanels } from './HeatmapPanels'
import classes from './HeatmapTab.module.css'
import { SelectionPanel } from './SelectionPanel'
import { useComparison } from './useComparison'
import { useFittingHeight } from './useFittingHeight'
import { useHeatmapView } from './useHeatmapView'

const route = getRouteApi('/services/$serviceId')
/** What a chart's panel has above its plot and under it, and beside it, in pixels; lines wrap where there are several, or more to say. */
const frameHeight = 138
const highFrameHeight = 156
const frameWidth = 18

interface HeatmapTabProps {
  serviceId: string
  service: ServiceDetail | undefined
  events: EventMarks
}

/** How a grid was measured, and what a cell of it is. */
function gridWords(grid: HeatGrid): string {
  const notes = grid.notes.length > 0 ? ` · ${grid.notes.join(' ')}` : ''
  return `${shortMethodName(grid.backend)}, ${granularityWords(grid.granularity)} · ${formatDuration(grid.columnSeconds)} a column · ${formatBytes(grid.regionBytes * grid.rowsPerCell)} a row${notes}`
}

/** Activity by time and address region on one host, with a panel for what is selected. */
export function HeatmapTab({ serviceId, service, events }: HeatmapTabProps) {
  const { host, group, zoom, scale, kinds, compare } = route.useSearch()
  const { range } = useTimeRange()
  const now = useNow(30_000)
  const theme = useChartTheme()
  const { ref, width } = useElementSize()
  const { place, height } = useFittingHeight(kinds === 'split' || compare !== undefined ? highFrameHeight : frameHeight)
  const [brush, setBrush] = useState(false)

  const { start, end } = resolveRange(range.from, range.to, now.getTime() / 1000)
  const zoomed = useMemo(() => readBox(zoom), [zoom])
  const fetched = zoomed === null ? null : fetchRange(zoomed, { t0: start, t1: end, r0: 0, r1: 1 })
  const plotWidth = width - frameWidth
  const margins = heatmapMargins(plotWidth)
  const columns = Math.max(60, Math.min(2000, Math.round(plotWidth - margins.l - margins.r)))
  const size = {
    maxRows: fetchRows(zoomed),
    maxColumns: fetched === null ? columns : Math.min(2000, columns * 2),
  }
  const query = useQuery({
    ...tilesQuery(
      serviceId,
      { host, group, ...size },
      fetched === null ? range : { ...range, from: toRfc3339(fetched.t0), to: toRfc3339(fetched.t1) },
    ),
    enabled: width > 0,
  })
  const hosts = useQuery(hostsQuery(null, serviceId))
  const grid = query.data
  const nothing = grid !== undefined && (grid.rows.length === 0 || grid.columnEnds.length === 0)
  const hostNames = new Map(hosts.data?.items.map((item) => [item.id, item.name]))
  const compared = useComparison({
    serviceId,
    compare,
    events: events.events,
    grid,
    window: { start, end },
    start: fetched?.t0 ?? start,
    end: fetched?.t1 ?? end,
    ...size,
    nameOf: (id) => hostNames.get(id) ?? id,
  })
  const raster = compared === null ? grid : compared.difference?.raster
  const rows = ((raster ?? grid)?.rows.length ?? 0) * (grid?.rowsPerCell ?? 1)
  const { box, extent, selection, setBox, setSelection, choose } = useHeatmapView(start, end, rows)
  const colours = useMemo(
    () => (grid === undefined ? wholeRange : colourRange(grid, box, scale === 'full')),
    [grid, box, scale],
  )
  // The host that is shown stands in the address, so that the link opens it again.
  const shown = grid !== undefined && grid.hostId !== '' && !query.isPlaceholderData ? grid.hostId : undefined
  useEffect(() => {
    if (host === undefined && shown !== undefined) choose({ host: shown }, true)
  }, [host, shown, choose])

  const load = loadStateOf(query)
  const gone = host !== undefined && load.problem?.status === 404
  const chart = {
    title: 'Activity by address and time',
    load: gone ? { ...load, problem: null } : load,
    box,
    extent,
    selection,
    brush,
    height,
    marks: events.marks,
    hint: grid === undefined ? '\u00a0' : gridWords(grid),
    empty: nothing
      ? {
          title: 'No heat tiles in this time range',
          next:
            grid.notes[0] ??
            service?.heat_reason ??
            'Widen the time range, or choose a host that measures heat (Hosts tab).',
        }
      : gone
        ? {
            title: 'No heat tiles of this host and group in this time range',
            next: 'Choose another host, or widen the time range.',
          }
        : null,
    onBox: setBox,
    onSelect: setSelection,
    onBrush: setBrush,
  }
  return (
    <div className={classes.layout} data-open={selection !== null}>
      <div ref={ref} className={classes.main}>
        <HeatmapControls
          host={host ?? grid?.hostId}
          group={group ?? grid?.group}
          hosts={(grid?.hosts ?? hosts.data?.items.map((item) => item.id) ?? []).map((id) => ({
            value: id,
            label: hostNames.get(id) ?? id,
          }))}
          groups={grid?.groups ?? []}
          brush={brush}
          fullScale={scale === 'full'}
          split={kinds === 'split'}
          compare={compare}
          events={events.events}
          hasKinds={grid !== undefined && lanes(grid).length > 1}
          box={box}
          extent={extent}
          readRecord={
            grid === undefined || nothing
              ? null
              : () => damoRecordOf(serviceId, { host: grid.hostId, group: grid.group }, range)
          }
          onChoose={choose}
          onBrush={setBrush}
          onBox={setBox}
        />
        {compared === null ? (
          <HeatmapPanels
            raster={grid}
            split={kinds === 'split'}
            width={width}
            place={place}
            legend={activityLegend(theme)}
            chart={chart}
            draw={(each, span) => (
              <ActivityHeatmap {...each} grid={nothing ? undefined : grid} range={colours} span={span} />
            )}
          />
        ) : (
          <ComparedPanels
            compared={compared}
            chart={chart}
            split={kinds === 'split'}
            fullScale={scale === 'full'}
            width={width}
            place={place}
          />
        )}
      </div>
      {selection !== null && grid !== undefined && (
        <SelectionPanel
          serviceId={serviceId}
          grid={grid}
          selection={selection}
          extent={{ ...extent, t0: fetched?.t0 ?? start, t1: fetched?.t1 ?? end }}
          onClose={() => setSelection(null)}
          onZoom={() => setBox(selection)}
        />
      )}
    </div>
  )
}
