import { useMemo } from 'react'
import type { Experiment, ExperimentMetric } from '../../api/_generated/schema'
import type { ChartMark } from '../../charts/eventMarks'
import { LinesChart } from '../../charts/lines/LinesChart'
import { experimentVerdict } from '../../lib/experiments'
import type { LoadState } from '../../lib/loadState'
import { seriesColour } from '../../lib/palette'
import { formatRatio } from '../../lib/units/units'
import { FigureText } from '../../ui/figures/FigureText'
import { ToneTag } from '../../ui/tags/ToneTag'
import { Prose } from '../../ui/text/Prose'
import classes from './ExperimentPage.module.css'

interface ExperimentMetricPanelProps {
  experiment: Experiment
  metric: ExperimentMetric
  /** Whether the experiment's verdict is this metric's. */
  decides: boolean
  load: LoadState
}

/** One metric: the means of both arms with the change marked, its effect with the interval, and what it says. */
export function ExperimentMetricPanel({ experiment, metric, decides, load }: ExperimentMetricPanelProps) {
  const verdict = experimentVerdict(metric.verdict)
  const marks = useMemo((): ChartMark[] => {
    const seconds = (at: string) => Date.parse(at) / 1000
    const change: ChartMark = { atSeconds: seconds(experiment.change_at), text: 'the change', kind: 'knob' }
    return experiment.ended_at === null
      ? [change]
      : [change, { atSeconds: seconds(experiment.ended_at), text: 'the end', kind: 'note' }]
  }, [experiment])
  const better = metric.direction === 'higher_is_better' ? 'higher is better' : 'lower is better'
  return (
    <LinesChart
      name={`experiment-${metric.metric}`}
      title={
        <>
          {metric.label} {decides && <ToneTag tone="info" label="decides" meaning="This metric decides the verdict." />}
        </>
      }
      label={`${metric.label} of both arms`}
      hint={`${better}; a difference matters from ${formatRatio(metric.margin_ratio)} on`}
      load={load}
      axis={experiment.axis}
      lines={metric.series.map((series, index) => ({ ...series, colour: seriesColour(index) }))}
      marks={marks}
      height={220}
      emptyText={{
        title: 'No host of either arm has this metric',
        next: 'Check that the hosts report it, or choose another metric.',
      }}
      controls={
        <span className={classes.effects} data-testid={`effect-${metric.metric}`}>
          effect <FigureText figure={metric.effect} label={`Effect on ${metric.label}`} />
          {verdict !== null && <ToneTag {...verdict} />}
          {metric.p_adjusted !== null && <span>adjusted p {metric.p_adjusted.toPrecision(2)}</span>}
        </span>
      }
      wrap={(plot) => (
        <>
          {plot}
          <div className={classes.effects}>
            <span>
              in its own unit: <FigureText figure={metric.effect_absolute} label={`Difference of ${metric.label}`} />
            </span>
            <p>
              <Prose text={metric.why} />
            </p>
          </div>
        </>
      )}
    />
  )
}
