import { Skeleton } from '@mantine/core'
import type { PingPong } from '../../api/_generated/schema'
import { FigureText } from '../../ui/figures/FigureText'
import { Panel } from '../../ui/layout/Panel'
import { ProvenanceChip } from '../../ui/provenance/ProvenanceChip'
import { Prose } from '../../ui/text/Prose'
import { Term } from '../../ui/text/Term'
import classes from './PingPongPanel.module.css'

const kinds = {
  measured: 'measured',
  sampled: 'sampled',
  upper_bound: 'bounds',
  not_available: 'not available',
} as const

/** What `at most` leaves open from here on: all of it. */
const ALL = 0.995

/** The share, or the bound of it that says something: at least, else at most, else that moves alone do not tell. */
function Share({ pingPong: { kind, ratio } }: { pingPong: PingPong }) {
  const least = ratio.interval?.lo ?? 0
  if (kind !== 'upper_bound' || ratio.status !== 'ok') {
    return <FigureText figure={ratio} label="Ping-pong share" />
  }
  if (least === 0 && (ratio.value ?? 0) >= ALL) {
    return <span className={classes.most}>Counts of moves alone do not tell: any share is possible.</span>
  }
  return (
    <>
      <span className={classes.most}>{least > 0 ? 'at least' : 'at most'}</span>
      <FigureText figure={least > 0 ? { ...ratio, value: least } : ratio} label="Ping-pong share" />
    </>
  )
}

/** Ping-pong, always labelled as measured or as bounds, with what it is of. */
export function PingPongPanel({ pingPong }: { pingPong: PingPong | undefined }) {
  if (pingPong === undefined) {
    return (
      <Panel title="Ping-pong">
        <Skeleton height={180} />
      </Panel>
    )
  }
  const what = pingPong.kind === 'upper_bound' ? 'Churn' : 'Ping-pong'
  const lines = [
    { name: what, figure: pingPong.churn_pages_per_s },
    { name: `${what} per GiB`, figure: pingPong.churn_pages_per_s_per_gib },
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
        <Share pingPong={pingPong} />
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
