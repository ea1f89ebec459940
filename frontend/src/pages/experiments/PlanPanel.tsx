import type { ExperimentPlan } from '../../api/_generated/schema'
import { PowerChart } from '../../charts/power/PowerChart'
import type { LoadState } from '../../lib/loadState'
import { countOf, formatCount, formatRatio } from '../../lib/units/units'
import { FactList } from '../../ui/layout/FactList'
import { FigureText } from '../../ui/figures/FigureText'
import { StateNote } from '../../ui/states/StateNote'
import { NotesList } from '../../ui/text/NotesList'
import { Panel } from '../../ui/layout/Panel'
import { ProblemState } from '../../ui/states/ProblemState'
import { Prose } from '../../ui/text/Prose'
import { Columns } from '../../ui/layout/Columns'
import classes from './ExperimentPage.module.css'

interface PlanPanelProps {
  plan: ExperimentPlan | undefined
  load: LoadState
  canary: number
  /** Control hosts that are named; undefined where all peer hosts that are left are drawn. */
  control: number | undefined
}

const mostExcluded = 12

/** What an experiment could tell before it is started: hosts that can be drawn, their spread, and the effect to find. */
export function PlanPanel({ plan, load, canary, control }: PlanPanelProps) {
  if (load.problem !== null && plan === undefined) return <ProblemState problem={load.problem} onRetry={load.retry} />
  const missing = plan?.missing ?? null
  const tooFew = plan === undefined ? null : tooFewHosts(plan, canary, control ?? plan.like_hosts - canary)
  return (
    <Columns joinAt={1100}>
      <PowerChart plan={plan} load={load} canary={canary} height={260} />
      <Panel title="Hosts and spread" hint="of peer hosts in the last seven days" testId="experiment-plan">
        {plan !== undefined && (
          <>
            <FactList
              facts={[
                ['Eligible peer hosts', formatCount(plan.like_hosts)],
                ['Mean now', <FigureText key="mean" figure={plan.baseline} label={plan.label} />],
                [
                  'Spread over hosts',
                  <FigureText key="spread" figure={plan.spread_ratio} label={`Spread of ${plan.label}`} />,
                ],
                [
                  `Hosts per arm for ${formatRatio(plan.effect_ratio)}`,
                  plan.hosts_per_arm_needed === null ? '–' : formatCount(plan.hosts_per_arm_needed),
                ],
                ['Day-to-day correlation', plan.correlation === null ? '–' : plan.correlation.toFixed(2)],
              ]}
            />
            {tooFew !== null && (
              <StateNote tone="warning" testId="plan-too-few">
                <p>{tooFew}</p>
              </StateNote>
            )}
            {missing?.reason != null && (
              <p className={classes.why}>
                <Prose text={missing.reason} />
              </p>
            )}
            {plan.excluded.length > 0 && (
              <ul className={classes.excluded} aria-label="Ineligible hosts">
                {plan.excluded.slice(0, mostExcluded).map((host) => (
                  <li key={host.host_id}>
                    {host.name}: <Prose text={host.why} />
                  </li>
                ))}
                {plan.excluded.length > mostExcluded && <li>and {plan.excluded.length - mostExcluded} more</li>}
              </ul>
            )}
            <NotesList notes={plan.notes} />
          </>
        )}
      </Panel>
    </Columns>
  )
}

/** That arms of this size miss an effect of the margin's size more often than not; null where they are large enough. */
function tooFewHosts(plan: ExperimentPlan, canary: number, control: number): string | null {
  const { hosts_per_arm_needed: needed, effect_ratio: margin } = plan
  const smaller = Math.min(canary, control)
  if (needed === null || !(canary >= 1) || smaller >= needed) return null
  return `Too few hosts for a margin of ${formatRatio(margin)}: that takes ${countOf(needed, 'host')} in each arm, and the smaller one has ${Math.max(smaller, 0)}. Smaller effects than the chart tells for it are likely to be missed.`
}
