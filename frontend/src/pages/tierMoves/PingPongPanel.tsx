import { Skeleton } from '@mantine/core'
import type { PingPong } from '../../api/_generated/schema'
import { FigureText } from '../../ui/figures/FigureText'
import { Panel } from '../../ui/layout/Panel'
import { ProvenanceChip } from '../../ui/provenance/ProvenanceChip'
import { Prose } from '../../ui/text/Prose'
import { Term } from '../../ui/text/Term'
import classes from './PingPongPanel.module.css'

const kinds = { measured: 'measured', upper_bound: 'upper bound', not_available: 'not available' } as const

/** Ping-pong, always labelled as measured or as an upper bound, with what it is of. */
export function PingPongPanel({ pingPong }: { pingPong: PingPong | undefined }) {
  if (pingPong === undefined) {
    return (
      <Panel title="Ping-pong">
        <Skeleton height={180} />
      </Panel>
    )
  }
  const lines = [
    { name: 'Churn', figure: pingPong.churn_pages_per_s },
    { name: 'Churn per GiB', figure: pingPong.churn_pages_per_s_per_gib },
    { name: 'Moved', figure: pingPong.tier_move_bytes_per_s },
  ]
  return (
    <Panel
      title={<Term name="pingPong">Ping-pong</Term>}
      actions={
        <span className={classes.kind} data-kind={pingPong.kind} data-testid="ping-pong-kind">
          {kinds[pingPong.kind]}
        </span>
      }
      testId="ping-pong"
    >
      <div className={classes.ratio}>
        {pingPong.kind === 'upper_bound' && pingPong.ratio.status === 'ok' && (
          <span className={classes.most}>at most</span>
        )}
        <FigureText figure={pingPong.ratio} label="Ping-pong share" />
      </div>
      <p className={classes.estimate}>
        <Prose text={pingPong.estimate} />
      </p>
      <ProvenanceChip figure={pingPong.ratio} label="Ping-pong share" />
      <dl className={classes.list}>
        {lines.map(({ name, figure }) => (
          <div key={name} className={classes.line}>
            <dt>{name}</dt>
            <dd>
              <FigureText figure={figure} label={name} />
            </dd>
          </div>
        ))}
      </dl>
    </Panel>
  )
}
