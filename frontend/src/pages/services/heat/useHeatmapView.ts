import { getRouteApi } from '@tanstack/react-router'
import { useCallback, useMemo, useRef } from 'react'
import { clampBox, isWhole } from '../../../lib/heat/heatView'
import { readBox, writeBox, type Box, type ServiceSearch } from '../../../lib/url/urlState'

const route = getRouteApi('/services/$serviceId')
/** View changes within this time are one step of the browser's history. */
const coalesceMs = 1500

/**
 * What of the heatmap is in view and selected, from the URL, and the ways to change it. The extent is the time range of
 * the page, Unix seconds, and all rows.
 */
export function useHeatmapView(start: number, end: number, rows: number) {
  const { zoom, sel } = route.useSearch()
  const navigate = route.useNavigate()
  const lastZoomAt = useRef(0)
  const extent = useMemo((): Box => ({ t0: start, t1: end, r0: 0, r1: Math.max(1, rows) }), [start, end, rows])
  const zoomed = useMemo(() => readBox(zoom), [zoom])
  const selection = useMemo(() => readBox(sel), [sel])
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
  const choose = useCallback(
    (next: Partial<ServiceSearch>, replace = false) =>
      void navigate({ search: (before) => ({ ...before, ...next }), replace, resetScroll: false }),
    [navigate],
  )
  return { box, extent, selection, setBox, setSelection, choose }
}
