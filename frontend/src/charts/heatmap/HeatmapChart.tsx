import { useCallback, useMemo, useRef, useState, type KeyboardEvent, type ReactNode } from 'react'
import type { HeatGrid } from '../../lib/heat/heatGrid'
import { panBox, zoomBox, type Extent } from '../../lib/heat/heatView'
import type { LoadState } from '../../lib/loadState'
import type { Box } from '../../lib/url/urlState'
import { useChartTheme } from '../../ui/theme/useChartTheme'
import { ChartPanel } from '../ChartPanel'
import type { ChartMark } from '../eventMarks'
import type { RelayoutUpdate } from '../Plot'
import { boxOfBrush, boxOfChange } from './changes'
import { heatmapFigure } from './figure'
import { heatmapLayers } from './layers'
import { HeatmapReadout, type HoveredCell } from './HeatmapReadout'
import { useHoveredCell } from './useHoveredCell'
import classes from './HeatmapChart.module.css'

interface HeatmapChartProps {
  grid: HeatGrid | undefined
  load: LoadState
  box: Box
  extent: Extent
  selection: Box | null
  brush: boolean
  height: number
  width: number
  hint: ReactNode
  controls: ReactNode
  onBox: (box: Box) => void
  onSelect: (box: Box | null) => void
  onBrush: (brush: boolean) => void
  marks: ChartMark[]
  empty: { title: string; next: string } | null
}

const step = 0.2

/** The interactive heatmap: wheel and keys zoom, drag pans, brush selects. The view lives in the caller's URL. */
export function HeatmapChart(props: HeatmapChartProps) {
  const { grid, load, box, extent, selection, brush, height, width, marks, onBox, onSelect, onBrush } = props
  const theme = useChartTheme()
  const frame = useRef<HTMLDivElement>(null)
  const [hovered, setHovered] = useState<HoveredCell | null>(null)
  const hover = useHoveredCell(box, height, setHovered)
  const layers = useMemo(() => (grid === undefined ? null : heatmapLayers(grid, theme)), [grid, theme])
  const figure = useMemo(() => {
    if (grid === undefined || layers === null) return null
    return heatmapFigure(grid, { box, selection, brush, height, width, marks }, theme, layers)
  }, [grid, layers, box, selection, brush, height, width, marks, theme])
  const relayout = useCallback(
    (update: RelayoutUpdate) => {
      const drawn = boxOfBrush(update)
      if (drawn !== null) {
        onSelect(drawn)
        return
      }
      const moved = boxOfChange(update, box)
      if (moved !== null) onBox(moved)
    },
    [box, onBox, onSelect],
  )
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target !== event.currentTarget) return
    const actions: Record<string, () => void> = {
      '+': () => onBox(zoomBox(box, 1 - step, extent)),
      '=': () => onBox(zoomBox(box, 1 - step, extent)),
      '-': () => onBox(zoomBox(box, 1 / (1 - step), extent)),
      '0': () => onBox(extent),
      ArrowLeft: () => onBox(panBox(box, -step, 0, extent)),
      ArrowRight: () => onBox(panBox(box, step, 0, extent)),
      ArrowUp: () => onBox(panBox(box, 0, -step, extent)),
      ArrowDown: () => onBox(panBox(box, 0, step, extent)),
      b: () => onBrush(!brush),
      Enter: () => onSelect(zoomBox(box, 0.5, extent)),
      Escape: () => onSelect(null),
    }
    const action = actions[event.key]
    if (action === undefined) return
    event.preventDefault()
    action()
  }
  return (
    <ChartPanel
      chart="heatmap"
      name="heatmap"
      title="Activity by address and time"
      label="Heatmap of activity by address region and time"
      hint={props.hint}
      load={load}
      figure={figure}
      height={height}
      hatched
      scrollZoom
      empty={props.empty}
      controls={props.controls}
      onRelayout={relayout}
      legend={[
        { label: 'idle', colour: '#0b0724' },
        { label: 'active', colour: '#f98e09' },
        { label: 'unsampled', colour: theme.unsampled },
        { label: 'not resident', colour: theme.notResident },
        { label: 'not collected', hatched: true },
      ]}
      wrap={(plot) => (
        <>
          <div
            ref={frame}
            className={classes.frame}
            data-loading={load.refreshing}
            tabIndex={0}
            role="application"
            aria-label="Heatmap. Plus and minus zoom, arrows pan, 0 resets, B switches to selecting, Enter selects the middle, Escape clears."
            onKeyDown={onKeyDown}
            onPointerMove={hover}
            onPointerLeave={() => setHovered(null)}
          >
            {plot}
          </div>
          {grid !== undefined && <HeatmapReadout grid={grid} hovered={hovered} />}
        </>
      )}
    />
  )
}
