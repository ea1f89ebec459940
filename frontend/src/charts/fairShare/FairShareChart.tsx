import type { HostFairness } from '../../api/_generated/schema'
import type { LoadState } from '../../lib/loadState'
import { ChartPanel } from '../ChartPanel'
import type { ChartMark } from '../eventMarks'
import { useFigure } from '../useFigure'
import { fairShareFigure, mostTenants, shareLines } from './figure'

interface FairShareChartProps {
  answer: HostFairness | undefined
  load: LoadState
  marks: ChartMark[]
  onTimeZoom: (startSeconds: number, endSeconds: number) => void
}

/** Shares of the top tier over time, held against fair. */
export function FairShareChart({ answer, load, marks, onTimeZoom }: FairShareChartProps) {
  const figure = useFigure(fairShareFigure, answer, marks)
  const lines = answer === undefined ? [] : shareLines(answer)
  const drawable = lines.some(({ held }) => held.values.some((value) => value !== null))
  const left = (answer?.tenants.length ?? 0) - mostTenants
  return (
    <ChartPanel
      chart="fairShare"
      name="fair-share"
      title="Held against fair share"
      label="Share of the top tier that each tenant holds, against its fair share, over time"
      hint={left > 0 ? `the ${mostTenants} largest; ${left} more in the table` : 'solid: held, dashed: fair share'}
      load={load}
      figure={figure}
      height={280}
      empty={
        answer !== undefined && !drawable
          ? { title: 'No shares in this time range', next: answer.notes[0] ?? 'Widen the time range.' }
          : null
      }
      evidence={answer?.held_bytes}
      legend={[
        ...lines.map(({ name, colour }) => ({ label: name, colour })),
        ...(lines.some(({ fair }) => fair !== undefined) ? [{ label: 'fair share', line: 'dashed' as const }] : []),
      ]}
      onTimeZoom={onTimeZoom}
    />
  )
}
