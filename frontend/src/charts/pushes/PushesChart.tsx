import type { HostFairness } from '../../api/_generated/schema'
import type { LoadState } from '../../lib/loadState'
import { ChartPanel } from '../ChartPanel'
import { useFigure } from '../useFigure'
import { pushesFigure } from './figure'

interface PushesChartProps {
  answer: HostFairness | undefined
  load: LoadState
}

/** Who was demoted while who took memory of the top tier. */
export function PushesChart({ answer, load }: PushesChartProps) {
  const figure = useFigure(pushesFigure, answer)
  const victims = new Set(answer?.pushes.map((push) => push.victim)).size
  return (
    <ChartPanel
      chart="pushes"
      name="pushes"
      title="Who pushed whom out"
      label="Demoted pages by victim, and by who took memory of the top tier meanwhile"
      hint="a split in proportion; hover for its bounds"
      load={load}
      figure={figure}
      hatched
      height={Math.min(480, 180 + 28 * victims)}
      empty={
        answer !== undefined && victims === 0
          ? { title: 'No one was pushed out in this time range', next: answer.notes.at(-1) ?? 'Widen the time range.' }
          : null
      }
      evidence={answer?.pushes[0]?.pages}
      legend={[{ label: 'cannot be', hatched: true }]}
    />
  )
}
