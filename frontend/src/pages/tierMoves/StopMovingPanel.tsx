import { Skeleton } from '@mantine/core'
import type { PingPongHistory } from '../../api/_generated/schema'
import { stateNames } from '../../charts/pingPong/figure'
import { Panel } from '../../ui/layout/Panel'
import { ToneTag } from '../../ui/tags/ToneTag'
import { Prose } from '../../ui/text/Prose'
import classes from './StopMovingPanel.module.css'

const tones = { ok: 'good', warn: 'warning', crit: 'critical' } as const

/** Whether pages of the subject should no longer be moved, and how ping-pong stands. What is moved, and why, stands above. */
export function StopMovingPanel({ history }: { history: PingPongHistory | undefined }) {
  if (history === undefined)
    return (
      <Panel title="Stop moving pages?">
        <Skeleton height={180} />
      </Panel>
    )
  const { stop_moving: stop, state } = history
  return (
    <Panel
      title="Stop moving pages?"
      hint="over the window"
      actions={
        state === null ? (
          <ToneTag tone="neutral" label="ping-pong: unknown" meaning={history.missing?.reason ?? 'There is no data.'} />
        ) : (
          <ToneTag
            tone={tones[state]}
            label={`ping-pong: ${stateNames[state]}`}
            meaning="The state of ping-pong at the end of the time range."
          />
        )
      }
      testId="stop-moving"
    >
      <div className={classes.stop} data-advised={stop.advised}>
        <strong>{stop.advised ? 'Stop tier moves' : 'Stopping tier moves is not advised'}</strong>
        <p className={classes.why}>
          <Prose text={stop.why} />
        </p>
        {stop.how !== null && (
          <p className={classes.how}>
            <Prose text={stop.how} />
          </p>
        )}
      </div>
    </Panel>
  )
}
