import { Skeleton } from '@mantine/core'
import type { Ratio, RatioCandidate } from '../../api/_generated/schema'
import type { LoadState } from '../../lib/loadState'
import { tierColour } from '../../lib/palette'
import { formatBytes, formatRatio } from '../../lib/units/units'
import { Stat } from '../../ui/figures/Stat'
import { StatStrip } from '../../ui/figures/StatStrip'
import { Panel } from '../../ui/layout/Panel'
import { ProblemState } from '../../ui/states/ProblemState'
import { ToneTag } from '../../ui/tags/ToneTag'
import { Prose } from '../../ui/text/Prose'
import { Term } from '../../ui/text/Term'
import { Timestamp } from '../../ui/text/Timestamp'
import { constraintName, doubtNames } from './ratioWords'
import classes from './RatioView.module.css'

const answers = {
  ratio: { tone: 'good', label: 'one ratio' },
  range: { tone: 'info', label: 'a range' },
  all_dram: { tone: 'info', label: 'all DRAM' },
  refused: { tone: 'neutral', label: 'no data' },
} as const

const grades = {
  early: { tone: 'warning', label: 'early' },
  provisional: { tone: 'info', label: 'provisional' },
  established: { tone: 'good', label: 'established' },
} as const

/** The candidate whose figures stand for the answer: the advised one, else the likeliest, else the smallest that may. */
function shownOf(ratio: Ratio): RatioCandidate | null {
  const { chosen, range, candidates } = ratio
  return chosen ?? candidates.find(({ name }) => name === (range?.likely ?? range?.plausible)) ?? null
}

function placementName(source: string): string {
  const policy = source.startsWith('simulated:') ? source.slice('simulated:'.length) : null
  return policy === null ? 'densest pages in DRAM' : `simulated, ${policy.replaceAll('_', ' ')}`
}

/** The answer: one sentence with its grade, and the figures that people act on. */
export function RatioAnswer({ ratio, load }: { ratio: Ratio | undefined; load: LoadState }) {
  if (load.problem !== null && ratio === undefined) return <ProblemState problem={load.problem} onRetry={load.retry} />
  const shown = ratio === undefined ? null : shownOf(ratio)
  const doubt = ratio?.uncertainty[0]
  const needed = ratio?.dram_needed
  return (
    <>
      <Panel
        title="DRAM to CXL"
        actions={
          ratio === undefined ? undefined : (
            <>
              <ToneTag {...answers[ratio.answer]} />
              {ratio.grade !== null && <ToneTag {...grades[ratio.grade]} meaning={ratio.scope} />}
            </>
          )
        }
        flush
        testId="ratio-answer"
      >
        <div className={classes.answer}>
          {ratio === undefined ? (
            <>
              <Skeleton height={24} maw={640} />
              <Skeleton height={96} mt={16} />
            </>
          ) : (
            <p className={classes.sentence} data-testid="ratio-sentence">
              <Prose text={ratio.sentence} />
            </p>
          )}
          {ratio?.placement != null && ratio.placement.beside !== null && (
            <dl className={classes.rows} data-testid="ratio-rows">
              <dt>As configured today ({placementName(ratio.placement.source)})</dt>
              <dd>{ratio.range?.safe ?? 'all DRAM'}</dd>
              <dt>At best, with the densest pages in DRAM (what advised settings can come near)</dt>
              <dd>{ratio.placement.chosen_beside ?? 'all DRAM'}</dd>
            </dl>
          )}
          {ratio !== undefined && (
            <div className={classes.meta}>
              <span>loss target {formatRatio(ratio.loss_target)}</span>
              {ratio.grade !== null && (
                <span data-testid="ratio-scope">
                  {ratio.grade}: {ratio.scope}
                </span>
              )}
              {shown !== null && shown.dram_bytes !== null && shown.slow_bytes !== null && (
                <span>
                  per host at {shown.name}: {formatBytes(shown.dram_bytes)} DRAM and {formatBytes(shown.slow_bytes)}{' '}
                  slow
                </span>
              )}
              {ratio.binding.length > 0 && <span>held back by: {ratio.binding.map(constraintName).join(', ')}</span>}
              {doubt !== undefined && (
                <span title={doubt.why}>
                  greatest doubt ({formatRatio(doubt.variance_ratio)}): {doubtNames[doubt.source]}
                </span>
              )}
              {ratio.placement !== null && (
                <span data-testid="ratio-placement" title={ratio.placement.why}>
                  placement: {placementName(ratio.placement.source)}
                </span>
              )}
              {ratio.expires_at !== null && (
                <span>
                  holds until <Timestamp at={ratio.expires_at} />
                </span>
              )}
            </div>
          )}
        </div>
      </Panel>
      <StatStrip
        label="Key figures"
        columns={ratio === undefined ? 6 : 2 + Number(needed !== null) + 3 * Number(shown !== null)}
      >
        {needed !== null && (
          <Stat label="DRAM needed" name="Share of the memory in DRAM that keeps the target" figure={needed} />
        )}
        <Stat
          label={<Term name="hotOutside">Hot outside DRAM</Term>}
          name="Hot bytes outside DRAM"
          figure={ratio?.leading.hot_outside_dram_bytes}
          swatch={tierColour('cxl')}
        />
        <Stat
          label={<Term name="coldInside">Cold in DRAM</Term>}
          name="Cold bytes in DRAM"
          figure={ratio?.leading.cold_in_dram_bytes}
          swatch={tierColour('dram')}
        />
        {(shown !== null || ratio === undefined) && (
          <>
            <Stat
              label={shown === null ? 'On slow memory' : `On slow memory at ${shown.name}`}
              name={`Share of accesses on slow memory at ${shown?.name ?? ''}`}
              figure={shown?.share_on_slow}
            />
            <Stat label="Loss, median" name={`Median loss at ${shown?.name ?? ''}`} figure={shown?.loss_median} />
            <Stat label="Loss, at most" name={`Upper loss at ${shown?.name ?? ''}`} figure={shown?.loss_upper} />
          </>
        )}
      </StatStrip>
    </>
  )
}
