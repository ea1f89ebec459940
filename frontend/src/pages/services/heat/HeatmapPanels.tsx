import { useMemo, type ReactNode, type Ref } from 'react'
import type { HeatmapChartProps } from '../../../charts/heatmap/HeatmapChart'
import { heatmapMargins } from '../../../charts/heatmap/figure'
import { lanes } from '../../../charts/heatmap/lanes'
import type { RowSpan } from '../../../charts/heatmap/layers'
import type { HeatRaster } from '../../../lib/heat/heatGrid'
import { Legend, type LegendItem } from '../../../ui/layout/Legend'
import classes from './HeatmapTab.module.css'

/** Panels side by side at most, and the least width of one, in pixels. */
const mostPanels = 3
const leastWidth = 300
const gap = 12
/** What a panel has beside its plot, in pixels. */
const frameWidth = 18

type Chart = Omit<HeatmapChartProps, 'drawing'>

interface HeatmapPanelsProps {
  raster: HeatRaster | undefined
  split: boolean
  /** The width for all panels, in pixels. */
  width: number
  /** Where the panels stand on the page. */
  place: Ref<HTMLDivElement>
  chart: Omit<Chart, 'width'>
  /** What the colours of all panels mean. */
  legend: LegendItem[]
  draw: (chart: Chart, span: RowSpan | undefined) => ReactNode
}

/** One heatmap, or one per page kind side by side: the same cells in the same colours over the same time. */
export function HeatmapPanels({ raster, split, width, place, chart, legend, draw }: HeatmapPanelsProps) {
  const parts = useMemo(
    () =>
      raster === undefined || !split
        ? []
        : lanes(raster).map((lane) => {
            const span: RowSpan = [lane.r0 / raster.rowsPerCell, lane.r1 / raster.rowsPerCell]
            return { ...lane, span }
          }),
    [raster, split],
  )
  if (parts.length === 0) return <div ref={place}>{draw({ ...chart, width: width - frameWidth }, undefined)}</div>
  const { box, extent, onBox } = chart
  const abreast = Math.max(1, Math.min(parts.length, mostPanels, Math.floor(width / leastWidth)))
  // All plots are equally wide: the panel at the end of a line has the colour bar besides.
  const barWidth = heatmapMargins(0, true).r - heatmapMargins(0, false).r
  const each = (width - gap * (abreast - 1) - barWidth) / abreast
  const lineOf = [...Array.from({ length: abreast - 1 }, () => each), each + barWidth]
  return (
    <div ref={place}>
      <Legend items={legend} />
      <div
        className={classes.panels}
        style={{ gridTemplateColumns: lineOf.map((share) => `${Math.max(1, share)}fr`).join(' ') }}
      >
        {parts.map(({ label, r0, r1, span }, index) => {
          const again = parts.slice(0, index).some((earlier) => earlier.label === label)
          const last = index % abreast === abreast - 1
          return (
            <div key={`${label}-${r0}`}>
              {draw(
                {
                  ...chart,
                  name: `heatmap-${label}${again ? '-gone' : ''}`,
                  title: again ? `${label}, on the other side alone` : label,
                  hint: undefined,
                  width: (last ? each + barWidth : each) - frameWidth,
                  bar: last || index === parts.length - 1,
                  rowsFixed: true,
                  legendAbove: true,
                  box: { ...box, r0, r1 },
                  extent: { ...extent, r0, r1 },
                  onBox: (next) => onBox({ ...box, t0: next.t0, t1: next.t1 }),
                },
                span,
              )}
            </div>
          )
        })}
      </div>
    </div>
  )
}
