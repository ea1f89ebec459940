import { useViewportSize } from '@mantine/hooks'
import { useEffect, useState } from 'react'

/** What a panel's head, legend and margins take of the window's height, in pixels. */
const aroundPlot = 140

/**
 * Whether a chart fills the window, and the height that its plot then has; Escape leaves. It lies over the page and is
 * no full screen of the browser's: menus and tooltips, which lie at the end of the document, stay usable.
 */
export function useFullScreen(height: number): { isFull: boolean; plotHeight: number; toggle: () => void } {
  const [isFull, setFull] = useState(false)
  const viewport = useViewportSize()
  useEffect(() => {
    if (!isFull) return
    const onKeyDown = (event: KeyboardEvent) => {
      if (event.key === 'Escape') setFull(false)
    }
    window.addEventListener('keydown', onKeyDown)
    return () => window.removeEventListener('keydown', onKeyDown)
  }, [isFull])
  return {
    isFull,
    plotHeight: isFull ? Math.max(height, viewport.height - aroundPlot) : height,
    toggle: () => setFull((before) => !before),
  }
}
