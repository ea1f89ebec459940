import { useCallback, useEffect, useMemo, useState, type KeyboardEvent, type ReactNode } from 'react'
import { panBox, zoomBox, type Extent } from '../../lib/heat/heatView'
import type { LoadState } from '../../lib/loadState'
import type { Box } from '../../lib/url/urlState'
import { useChartTheme } from '../../ui/theme/useChartTheme'
import type { ChartFigure } from '../chartFigure'
import { ChartPanel } from '../ChartPanel'
import type { ChartMark } from '../eventMarks'
import type { RelayoutUpdate } from '../Plot'
import { boxOfBrush, boxOfChange } from './changes'
import type { HeatmapDrawing } from './drawing'
import { heatmapFigure } from './figure'
import { HeatmapReadout, type HoveredCell } from './HeatmapReadout'
import { useHoveredCell } from './useHoveredCell'
import classes from './HeatmapChart.module.css'

export interface HeatmapChartProps {
  /** What downloads are called, and the panel's test id. */
  name?: string
  title: string
  drawing: HeatmapDrawing | undefined
  load: LoadState
  box: Box
  extent: Extent
  selection: Box | null
  brush: boolean
  height: number
  width: number
  hint?: ReactNode
  onBox: (box: Box) => void
  onSelect: (box: Box | null) => void
  onBrush: (brush: boolean) => void
  marks: ChartMark[]
  empty: { title: string; next: string } | null
  /** Whether the colour bar stands beside the plot. */
  bar?: boolean
  /** Whether all rows stay in view, so that only time moves. */
  rowsFixed?: boolean
  /** The legend stands over several charts. */
  legendAbove?: boolean
}

const step = 0.2

/** Wheel turns without Ctrl or Cmd never reach the plot: they scroll the page. */
function useScrollingWheel(frame: HTMLElement | null): void {
  useEffect(() => {
    if (frame === null) return
    const onWheel = (event: WheelEvent) => {
      if (!event.ctrlKey && !event.metaKey) event.stopPropagation()
    }
    frame.addEventListener('wheel', onWheel, { capture: true, passive: true })
    return () => frame.removeEventListener('wheel', onWheel, { capture: true })
  }, [frame])
}

/** The interactive heatmap: Ctrl and wheel, or keys, zoom; drag pans, brush selects. The view is in the caller's URL. */
export function HeatmapChart(props: HeatmapChartProps) {
  const { name = 'heatmap', title, drawing, load, box, extent, selection, brush, height, width, marks } = props
  const { onBox, onSelect, onBrush, bar = true, rowsFixed = false } = props
  const theme = useChartTheme()
  const [frame, setFrame] = useState<HTMLDivElement | null>(null)
  const [hovered, setHovered] = useState<HoveredCell | null>(null)
  const hover = useHoveredCell(box, height, bar, setHovered)
  useScrollingWheel(frame)
  const figure = useMemo((): ChartFigure | null => {
    if (drawing === undefined) return null
    const view = { box, selection, brush, height, width, marks, bar, rowsFixed, outline: drawing.outline }
    return {
      ...heatmapFigure(drawing.raster, view, theme, drawing.layers),
      // Half a million cells are spelled out only when someone asks for them.
      get table() {
        return drawing.table()
      },
    }
  }, [drawing, box, selection, brush, height, width, marks, bar, rowsFixed, theme])
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
      name={name}
      title={title}
      label={`Heatmap: ${title}`}
      hint={props.hint}
      load={load}
      figure={figure}
      height={height}
      hatched
      scrollZoom
      empty={props.empty}
      onRelayout={relayout}
      legend={drawing?.legend ?? []}
      legendAbove={props.legendAbove ?? false}
      wrap={(plot) => (
        <div
          ref={setFrame}
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
          {drawing !== undefined && <HeatmapReadout drawing={drawing} hovered={hovered} height={height} />}
        </div>
      )}
    />
  )
}
