import { useElementSize } from '@mantine/hooks'
import { useEffect, useRef, useState } from 'react'
import type { Config, Layout } from 'plotly.js'
import type { ChartFigure } from './chartFigure'
import type { Plotly as PlotlyApi } from './plotlyBundle'
import classes from './Plot.module.css'

/** A change of the view that the viewer made: axis ranges as Plotly names them, or drawn shapes. */
export type RelayoutUpdate = Record<string, unknown>

/** What was clicked: its place, or the id of a tile. */
export interface ClickedPoint {
  x: unknown
  y: unknown
  id?: unknown
}

interface PlotProps {
  figure: ChartFigure
  height: number
  /** What the plot shows, for screen readers. */
  label: string
  scrollZoom?: boolean
  onRelayout?: ((update: RelayoutUpdate) => void) | undefined
  onPointClick?: ((point: ClickedPoint) => void) | undefined
  /** A click with the Shift key, which then is no click on a point. */
  onShiftClick?: ((point: ClickedPoint) => void) | undefined
}

type Api = typeof PlotlyApi

interface EventSource {
  on: (event: string, handler: (payload: never) => void) => void
  removeAllListeners: (event: string) => void
}

function isEventSource(element: unknown): element is EventSource {
  return typeof element === 'object' && element !== null && 'on' in element && 'removeAllListeners' in element
}

let bundle: Promise<Api> | null = null

/** Begins to load Plotly, so that it arrives beside the data and not after it. */
export function loadPlotly(): Promise<Api> {
  // A load that failed is tried again by the next plot.
  bundle ??= import('./plotlyBundle').then(
    (found) => found.Plotly,
    (problem: unknown) => {
      bundle = null
      throw problem
    },
  )
  return bundle
}

/** A Plotly figure at a fixed height. */
export function Plot({ figure, height, label, scrollZoom = false, onRelayout, onPointClick, onShiftClick }: PlotProps) {
  const [api, setApi] = useState<Api | null>(null)
  const { ref: sizeRef, width } = useElementSize()
  const element = useRef<HTMLDivElement>(null)
  const drawing = useRef<Promise<void>>(Promise.resolve())

  useEffect(() => {
    let gone = false
    void loadPlotly().then((loaded) => {
      if (!gone) setApi(() => loaded)
    })
    return () => {
      gone = true
    }
  }, [])

  useEffect(() => {
    const target = element.current
    if (api === null || target === null || width === 0) return
    const layout: Partial<Layout> = { ...figure.layout, width, height }
    const config: Partial<Config> = { displayModeBar: false, scrollZoom, responsive: false, doubleClick: false }
    drawing.current = api.react(target, figure.data, layout, config).then(() => {
      // Without a view box a drawing is cut where the paper is narrower than the screen (ui/theme/theme.css).
      for (const sheet of target.querySelectorAll('.main-svg')) {
        sheet.setAttribute('viewBox', `0 0 ${width} ${height}`)
      }
    })
  }, [api, figure, width, height, scrollZoom])

  useEffect(() => {
    const target: unknown = element.current
    if (api === null || width === 0 || !isEventSource(target)) return
    if (onRelayout !== undefined) target.on('plotly_relayout', (update: RelayoutUpdate) => onRelayout(update))
    if (onPointClick !== undefined || onShiftClick !== undefined) {
      target.on('plotly_click', (event: { points: ClickedPoint[]; event: MouseEvent }) => {
        const point = event.points[0]
        if (point === undefined) return
        if (onShiftClick !== undefined && event.event.shiftKey) onShiftClick(point)
        else onPointClick?.(point)
      })
    }
    return () => {
      target.removeAllListeners('plotly_relayout')
      target.removeAllListeners('plotly_click')
    }
  }, [api, width, onRelayout, onPointClick, onShiftClick])

  useEffect(() => {
    const target = element.current
    return () => {
      if (api === null || target === null) return
      // A drawing whose data is taken away halfway fails.
      const purge = () => api.purge(target)
      void drawing.current.then(purge, purge)
    }
  }, [api])

  return (
    <div ref={sizeRef} className={classes.frame} style={{ height }}>
      <div ref={element} role="img" aria-label={label} data-ready={api !== null && width > 0} />
    </div>
  )
}
