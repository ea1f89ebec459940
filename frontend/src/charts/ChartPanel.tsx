import { ActionIcon } from '@mantine/core'
import { useElementSize } from '@mantine/hooks'
import { IconArrowsMaximize, IconArrowsMinimize, IconChartHistogram, IconTable } from '@tabler/icons-react'
import { use, useCallback, useEffect, useState, type ReactNode } from 'react'
import type { FigureValue } from '../lib/units/figure'
import { plotTimeSeconds } from '../lib/units/time'
import type { LoadState } from '../lib/loadState'
import { EmptyState } from '../ui/states/EmptyState'
import { ExportMenu } from '../ui/export/ExportMenu'
import { Legend, type LegendItem } from '../ui/layout/Legend'
import { Panel } from '../ui/layout/Panel'
import { Loading } from '../ui/layout/Loading'
import { ProblemState } from '../ui/states/ProblemState'
import { Prose } from '../ui/text/Prose'
import { ProvenanceChip } from '../ui/provenance/ProvenanceChip'
import { TableView } from '../ui/tables/TableView'
import { useChartTheme } from '../ui/theme/useChartTheme'
import type { ChartFigure } from './chartFigure'
import type { Named } from './ghost'
import { downloadPng } from './chartImage'
import { HowToRead } from './HowToRead'
import { NoteTimeContext } from './noteTime'
import { loadPlotly, Plot, type ClickedPoint, type RelayoutUpdate } from './Plot'
import type { ChartName } from './readings'
import { timeZoomOf } from './timeZoom'
import { useFullScreen } from './useFullScreen'
import classes from './ChartPanel.module.css'

export interface ChartPanelProps {
  /** What draws it: the name of the folder in charts/. */
  chart: ChartName
  /** Stable name: `chart-<name>` is its test id, and downloads carry it. */
  name: string
  title: ReactNode
  /** The title as plain text, where `title` is more than that. */
  label: string
  hint?: ReactNode
  load: LoadState
  /** Null while there is no answer, or where the answer holds nothing to draw (then `empty` says why). */
  figure: ChartFigure | null
  empty?: { title: string; next: string } | null
  height: number
  evidence?: FigureValue | undefined
  legend?: LegendItem[]
  /** What the figure draws besides, to compare with; null where nothing is compared. */
  ghost?: Named | null
  /** The legend stands over several charts: only pictures of this one carry it. */
  legendAbove?: boolean
  controls?: ReactNode
  hatched?: boolean
  scrollZoom?: boolean
  onTimeZoom?: ((startSeconds: number, endSeconds: number) => void) | undefined
  onRelayout?: ((update: RelayoutUpdate) => void) | undefined
  onPointClick?: ((point: ClickedPoint) => void) | undefined
  /** Replaces the plot, for charts with more than a plot inside. */
  wrap?: (plot: ReactNode) => ReactNode
  /** Stands in the plot's place, for what is drawn as HTML; the figure then is what its picture shows. */
  drawing?: ReactNode
  /** The height of its picture in pixels, where it differs from `height`. */
  pictureHeight?: number | undefined
}

/** Pictures are not narrower than this, in pixels, on however small a screen they are asked for. */
const leastWidth = 640

/** A chart with all that every chart has: evidence, legend, table view, downloads, and its four states at one size. */
export function ChartPanel(props: ChartPanelProps) {
  const { name, title, label, hint, load, figure, empty, height, evidence, controls, onTimeZoom, onRelayout } = props
  const { ghost = null } = props
  const drawnGhost = ghost !== null && ghost.missing === null ? [{ label: ghost.label, line: 'dashed' as const }] : []
  const legend = props.legend === undefined ? undefined : [...props.legend, ...drawnGhost]
  const [asTable, setAsTable] = useState(false)
  const theme = useChartTheme()
  const { ref: sizeRef, width } = useElementSize()
  const { isFull, plotHeight, toggle } = useFullScreen(height)

  const plots = props.drawing === undefined
  useEffect(() => {
    // Where it fails, the plot tries again once there is something to draw.
    if (plots) loadPlotly().catch(() => undefined)
  }, [plots])

  const relayout = useCallback(
    (update: RelayoutUpdate) => {
      const zoom = timeZoomOf(update)
      if (zoom !== null && onTimeZoom !== undefined) onTimeZoom(zoom.start, zoom.end)
      onRelayout?.(update)
    },
    [onTimeZoom, onRelayout],
  )

  const startNote = use(NoteTimeContext)
  const noteAt = useCallback(
    ({ x }: ClickedPoint) => {
      const atSeconds = typeof x === 'string' ? plotTimeSeconds(x) : NaN
      if (startNote !== null && Number.isFinite(atSeconds)) startNote(atSeconds)
    },
    [startNote],
  )

  const body = (): ReactNode => {
    if (figure === null || empty) {
      if (load.problem !== null) return <ProblemState problem={load.problem} onRetry={load.retry} />
      if (empty) return <EmptyState title={empty.title} next={empty.next} />
      return <Loading height="100%" testId="chart-skeleton" />
    }
    if (asTable) return <TableView table={figure.table} label={label} />
    if (props.drawing !== undefined) return props.drawing
    const drawn = (
      <Plot
        figure={figure}
        height={plotHeight}
        label={label}
        scrollZoom={props.scrollZoom ?? false}
        onRelayout={onTimeZoom === undefined && onRelayout === undefined ? undefined : relayout}
        onPointClick={props.onPointClick}
        onShiftClick={startNote === null || onTimeZoom === undefined ? undefined : noteAt}
      />
    )
    return props.wrap === undefined ? drawn : props.wrap(drawn)
  }

  const ready = figure !== null && !empty
  const grows = props.wrap !== undefined || props.drawing !== undefined
  const actions = (
    <>
      {controls}
      <HowToRead chart={props.chart} label={label} />
      <ActionIcon
        aria-label={asTable ? `Show ${label} as a chart` : `Show ${label} as a table`}
        onClick={() => setAsTable(!asTable)}
        disabled={!ready}
      >
        {asTable ? <IconChartHistogram size={16} /> : <IconTable size={16} />}
      </ActionIcon>
      <ExportMenu
        name={name}
        label={label}
        table={ready ? () => figure.table : null}
        onPng={async (origin) => {
          if (!ready) return
          const size = { width: Math.max(width, leastWidth), height: props.pictureHeight ?? height }
          await downloadPng({ name, title: label, legend: legend ?? [], theme }, figure, size, origin)
        }}
      />
      <ActionIcon
        aria-label={isFull ? `Leave full screen of ${label}` : `Show ${label} in full screen`}
        aria-pressed={isFull}
        onClick={toggle}
      >
        {isFull ? <IconArrowsMinimize size={16} /> : <IconArrowsMaximize size={16} />}
      </ActionIcon>
    </>
  )
  return (
    <Panel
      title={title}
      hint={hint}
      actions={actions}
      testId={`chart-${name}`}
      chart={props.chart}
      isFull={isFull}
      flush
    >
      <div className={classes.meta}>
        {legend !== undefined && !props.legendAbove && <Legend items={legend} />}
        {evidence !== undefined && <ProvenanceChip figure={evidence} label={label} />}
      </div>
      {load.problem !== null && figure !== null && (
        <p className={classes.stale} role="status">
          Not refreshed: {load.problem.title}. <Prose text={load.problem.nextStep} />
        </p>
      )}
      {ghost !== null && ghost.missing !== null && (
        <p className={classes.stale} role="status">
          {ghost.missing}
        </p>
      )}
      <div
        ref={sizeRef}
        className={props.hatched ? `${classes.body} ts-hatched` : classes.body}
        style={{ minHeight: plotHeight }}
      >
        <div style={{ height: grows && ready && !asTable ? undefined : plotHeight }}>{body()}</div>
      </div>
    </Panel>
  )
}
