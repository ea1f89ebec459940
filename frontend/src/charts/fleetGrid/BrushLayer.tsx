import { useRef, useState, type PointerEvent, type ReactNode } from 'react'
import classes from './BrushLayer.module.css'

interface Point {
  x: number
  y: number
}

interface BrushLayerProps {
  /** The plot with the tiles. */
  children: ReactNode
  isActive: boolean
  /** Which tiles a rectangle touches; `adds` when they join those that were chosen before. */
  onBrush: (ids: string[], adds: boolean) => void
}

/** Lies over tiles while hosts are chosen: a rectangle takes those it touches, a click takes one. */
export function BrushLayer({ children, isActive, onBrush }: BrushLayerProps) {
  const frame = useRef<HTMLDivElement>(null)
  const [drawn, setDrawn] = useState<{ start: Point; end: Point } | null>(null)

  const placeOf = (event: PointerEvent): Point => {
    const box = event.currentTarget.getBoundingClientRect()
    return { x: event.clientX - box.left, y: event.clientY - box.top }
  }
  const finish = (event: PointerEvent) => {
    if (drawn === null || frame.current === null) return
    const box = frame.current.getBoundingClientRect()
    const { left, top, width, height } = boxOf(drawn.start, placeOf(event))
    const touched = tilesIn(frame.current, new DOMRect(box.left + left, box.top + top, width, height))
    setDrawn(null)
    onBrush(touched, event.shiftKey || event.ctrlKey || event.metaKey)
  }
  return (
    <div ref={frame} className={classes.frame}>
      {children}
      {isActive && (
        <div
          className={classes.layer}
          data-testid="brush-layer"
          onPointerDown={(event) => {
            event.currentTarget.setPointerCapture(event.pointerId)
            setDrawn({ start: placeOf(event), end: placeOf(event) })
          }}
          onPointerMove={(event) => {
            if (drawn !== null) setDrawn({ ...drawn, end: placeOf(event) })
          }}
          onPointerUp={finish}
          onPointerCancel={() => setDrawn(null)}
        >
          {drawn !== null && <div className={classes.box} style={boxOf(drawn.start, drawn.end)} />}
        </div>
      )}
    </div>
  )
}

function boxOf(start: Point, end: Point) {
  return {
    left: Math.min(start.x, end.x),
    top: Math.min(start.y, end.y),
    width: Math.abs(end.x - start.x),
    height: Math.abs(end.y - start.y),
  }
}

/** Ids of the tiles whose drawing touches a rectangle of the window; groups are none. */
function tilesIn(frame: HTMLElement, wanted: DOMRect): string[] {
  return [...frame.querySelectorAll('.treemaplayer .slice')].flatMap((slice) => {
    const id = idOf(slice)
    const surface = slice.querySelector('path.surface')?.getBoundingClientRect()
    if (id === null || id.startsWith('group:') || surface === undefined) return []
    const apart =
      surface.right < wanted.left ||
      surface.left > wanted.right ||
      surface.bottom < wanted.top ||
      surface.top > wanted.bottom
    return apart ? [] : [id]
  })
}

/** Plotly binds the tile's data to its element; no event tells of many tiles at once. */
function idOf(slice: Element): string | null {
  const bound = (slice as { __data__?: { data?: { data?: { id?: unknown } } } }).__data__
  const id = bound?.data?.data?.id
  return typeof id === 'string' ? id : null
}
