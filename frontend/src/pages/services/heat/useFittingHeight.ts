import { useViewportSize } from '@mantine/hooks'
import { useEffect, useState } from 'react'

/** Heights of the heatmap in pixels. */
const [least, most] = [340, 900]

/**
 * The height that lets a chart end at the lower edge of the window, from where its element begins on the page. `around`
 * is what stands in the element over the chart and under it, in pixels. Give `place` to the element as its ref.
 */
export function useFittingHeight(around: number) {
  const [element, place] = useState<HTMLElement | null>(null)
  const { height: viewport } = useViewportSize()
  const [top, setTop] = useState(0)
  useEffect(() => {
    if (element === null) return
    const measure = () => setTop(Math.round(element.getBoundingClientRect().top + window.scrollY))
    // What stands above changes with answers and wraps with the window: both change the height of the page.
    const observer = new ResizeObserver(measure)
    observer.observe(document.body)
    measure()
    return () => observer.disconnect()
  }, [element])
  return { place, height: Math.min(most, Math.max(least, viewport - top - around)) }
}
