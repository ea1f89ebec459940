import { Skeleton } from '@mantine/core'
import type { KindSensitivity, Sensitivity } from '../../../api/_generated/schema'
import type { LoadState } from '../../../lib/loadState'
import { formatCount, threeDigits } from '../../../lib/units/units'
import { FigureText } from '../../../ui/figures/FigureText'
import { Panel } from '../../../ui/layout/Panel'
import { ProvenanceChip } from '../../../ui/provenance/ProvenanceChip'
import { ProblemState } from '../../../ui/states/ProblemState'
import { ToneTag } from '../../../ui/tags/ToneTag'
import { Prose } from '../../../ui/text/Prose'
import { Term } from '../../../ui/text/Term'
import classes from './ElasticityPanel.module.css'

interface ElasticityProps {
  kind: KindSensitivity
  /** The reason is that of the whole panel and stands beside the chart. */
  saidElsewhere: boolean
}

function Elasticity({ kind, saidElsewhere }: ElasticityProps) {
  const { elasticity, refused } = kind
  const { interval } = elasticity
  const isRefused = elasticity.value === null
  return (
    <section className={classes.kind} data-testid={`elasticity-${kind.kind}`}>
      <div className={classes.head}>
        <strong>{kind.kind}</strong>
        {isRefused && saidElsewhere && <FigureText figure={elasticity} label={`Elasticity of ${kind.kind}`} />}
        {isRefused && !saidElsewhere && (
          <ToneTag tone="neutral" label="refused" meaning="Inconclusive: this does not mean no effect." />
        )}
      </div>
      {isRefused && saidElsewhere ? null : isRefused ? (
        <ul className={classes.reasons} aria-label={`Why there is no elasticity of ${kind.kind}`}>
          {(refused.length > 0 ? refused : [elasticity.reason ?? 'More data is needed.']).map((reason) => (
            <li key={reason}>
              <Prose text={reason} />
            </li>
          ))}
        </ul>
      ) : (
        <>
          <p className={classes.value}>
            <FigureText figure={elasticity} label={`Elasticity of ${kind.kind}`} bare />
            {interval !== null && (
              <span className={classes.interval}>
                {threeDigits(interval.lo)} – {threeDigits(interval.hi)}
              </span>
            )}
          </p>
          <p className={classes.words}>
            1 % more {kind.kind} memory in DRAM goes with {threeDigits(elasticity.value ?? 0)} % more throughput.
          </p>
          <ProvenanceChip figure={elasticity} label={`Elasticity of ${kind.kind}`} />
        </>
      )}
    </section>
  )
}

/** The elasticity of each kind with its interval, or every reason why there is none, and what it rests on. */
export function ElasticityPanel({ sensitivity, load }: { sensitivity: Sensitivity | undefined; load: LoadState }) {
  return (
    <Panel
      title={<Term name="elasticity">Elasticity</Term>}
      hint="an association: nothing was randomized"
      testId="elasticity"
    >
      {sensitivity === undefined ? (
        load.problem === null ? (
          <Skeleton height={160} />
        ) : (
          <ProblemState problem={load.problem} onRetry={load.retry} />
        )
      ) : (
        <>
          {sensitivity.kinds.map((kind) => (
            <Elasticity key={kind.kind} kind={kind} saidElsewhere={sensitivity.missing !== null} />
          ))}
          {sensitivity.n_pairs > 0 && <p className={classes.words}>{restsOn(sensitivity)}</p>}
          {sensitivity.confounders.length > 0 && (
            <details className={classes.details}>
              <summary>Possible confounders</summary>
              <ul>
                {sensitivity.confounders.map((confounder) => (
                  <li key={confounder}>
                    <Prose text={confounder} />
                  </li>
                ))}
              </ul>
            </details>
          )}
        </>
      )}
    </Panel>
  )
}

function restsOn(sensitivity: Sensitivity): string {
  const { n_pairs: pairs, n_effective: effective, correlation, variance_inflation: inflation } = sensitivity
  const errors = { clustered: 'errors clustered by host', hac: 'errors robust to autocorrelation' }
  return [
    `${formatCount(pairs)} changes between intervals`,
    effective === null ? null : `${formatCount(effective)} of them independent`,
    correlation === null ? null : `anon and file correlate at ${threeDigits(correlation)}`,
    inflation === null ? null : `variance inflation ${threeDigits(inflation)}`,
    sensitivity.errors === null ? null : errors[sensitivity.errors],
  ]
    .filter((part) => part !== null)
    .join(' · ')
}
