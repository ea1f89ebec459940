import { Skeleton } from '@mantine/core'
import type { PingPongHistory } from '../../api/_generated/schema'
import { stateNames } from '../../charts/pingPong/figure'
import { Panel } from '../../ui/layout/Panel'
import { ToneTag } from '../../ui/tags/ToneTag'
import { VerdictTag } from '../../ui/tags/VerdictTag'
import { Prose } from '../../ui/text/Prose'
import classes from './StopMovingPanel.module.css'

const tones = { ok: 'good', warn: 'warning', crit: 'critical' } as const

/** The verdict on the moves: what they are, why, and whether pages of the subject should no longer be moved. */
export function StopMovingPanel({ history }: { history: PingPongHistory | undefined }) {
  if (history === undefined)
    return (
      <Panel title="Verdict">
        <Skeleton height={180} />
      </Panel>
    )
  const { stop_moving: stop, state } = history
  return (
    <Panel
      title="Verdict"
      hint="over the window"
      actions={
        state === null ? (
          <ToneTag tone="neutral" label="state unknown" meaning={history.missing?.reason ?? 'There is no data.'} />
        ) : (
          <ToneTag tone={tones[state]} label={stateNames[state]} meaning="The state at the end of the time range." />
        )
      }
      testId="stop-moving"
    >
      <VerdictTag verdict={history.verdict} window={history.window} />
      <p className={classes.why}>
        <Prose text={history.explanation} />
      </p>
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
