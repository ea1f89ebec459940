import { Skeleton } from '@mantine/core'
import type { Ratio } from '../../api/_generated/schema'
import type { LoadState } from '../../lib/loadState'
import { tierColour } from '../../lib/palette'
import { formatBytes, formatRatio } from '../../lib/units/units'
import { Stat } from '../../ui/figures/Stat'
import { StatStrip } from '../../ui/figures/StatStrip'
import { Panel } from '../../ui/layout/Panel'
import { ProblemState } from '../../ui/states/ProblemState'
import { StateNote } from '../../ui/states/StateNote'
import { ToneTag } from '../../ui/tags/ToneTag'
import { Prose } from '../../ui/text/Prose'
import { Term } from '../../ui/text/Term'
import { Timestamp } from '../../ui/text/Timestamp'
import classes from './RatioView.module.css'

const answers = {
  ratio: { tone: 'good', label: 'advised' },
  all_dram: { tone: 'info', label: 'all DRAM' },
  refused: { tone: 'neutral', label: 'not enough evidence' },
} as const

function placementName(source: string): string {
  const policy = source.startsWith('simulated:') ? source.slice('simulated:'.length) : null
  return policy === null ? 'densest pages in DRAM' : `simulated, ${policy.replaceAll('_', ' ')}`
}

/** The answer: one sentence, why it was refused where it was, and the figures that people act on. */
export function RatioAnswer({ ratio, load }: { ratio: Ratio | undefined; load: LoadState }) {
  if (load.problem !== null && ratio === undefined) return <ProblemState problem={load.problem} onRetry={load.retry} />
  const chosen = ratio?.chosen ?? null
  return (
    <>
      <Panel
        title="DRAM to CXL"
        actions={ratio === undefined ? undefined : <ToneTag {...answers[ratio.answer]} />}
        flush
        testId="ratio-answer"
      >
        <div className={classes.answer}>
          {ratio === undefined ? (
            <Skeleton height={24} maw={640} />
          ) : (
            <p className={classes.sentence} data-testid="ratio-sentence">
              <Prose text={ratio.sentence} />
            </p>
          )}
          {ratio !== undefined && (
            <div className={classes.meta}>
              <span>loss target {formatRatio(ratio.loss_target)}</span>
              {chosen !== null && chosen.dram_bytes !== null && chosen.slow_bytes !== null && (
                <span>
                  per host {formatBytes(chosen.dram_bytes)} DRAM and {formatBytes(chosen.slow_bytes)} slow
                </span>
              )}
              {ratio.placement !== null && (
                <span data-testid="ratio-placement" title={ratio.placement.why}>
                  placement: {placementName(ratio.placement.source)}
                  {ratio.placement.beside !== null &&
                    `; with the densest pages in DRAM: ${ratio.placement.chosen_beside ?? 'all DRAM'}`}
                </span>
              )}
              {ratio.alternatives.length > 0 && <span>also meet the target: {ratio.alternatives.join(', ')}</span>}
              {ratio.expires_at !== null && (
                <span>
                  holds until <Timestamp at={ratio.expires_at} />
                </span>
              )}
            </div>
          )}
        </div>
      </Panel>
      {ratio !== undefined && ratio.refused.length > 0 && (
        <StateNote tone="neutral" testId="ratio-refused">
          <p>
            <strong>What is missing for advice:</strong>
          </p>
          <ul>
            {ratio.refused.map((reason) => (
              <li key={reason}>
                <Prose text={reason} />
              </li>
            ))}
          </ul>
        </StateNote>
      )}
      <StatStrip label="Key figures" columns={chosen === null && ratio !== undefined ? 2 : 5}>
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
        {(chosen !== null || ratio === undefined) && (
          <>
            <Stat
              label="Accesses on slow memory"
              name={`Share of accesses on slow memory at ${chosen?.name ?? ''}`}
              figure={chosen?.share_on_slow}
            />
            <Stat label="Loss, median" name={`Median loss at ${chosen?.name ?? ''}`} figure={chosen?.loss_median} />
            <Stat label="Loss, at most" name={`Upper loss at ${chosen?.name ?? ''}`} figure={chosen?.loss_upper} />
          </>
        )}
      </StatStrip>
    </>
  )
}
