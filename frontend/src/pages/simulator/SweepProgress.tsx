import { Button, Progress } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import type { Sweep } from '../../api/_generated/schema'
import { problemText } from '../../api/problem'
import { isUnfinished, steerSweep } from '../../api/queries/simulate/sweeps'
import { sweepStatus } from '../../lib/simulate'
import { formatCount, formatRatio } from '../../lib/units/units'
import { Panel } from '../../ui/layout/Panel'
import { ToneTag } from '../../ui/tags/ToneTag'
import { Prose } from '../../ui/text/Prose'
import classes from './SweepPage.module.css'
import { LoginFirst } from '../shell/access/LoginFirst'

/** How far a sweep is, policy by policy, and the ways to stop it and to go on. */
export function SweepProgress({ sweep }: { sweep: Sweep }) {
  const queries = useQueryClient()
  const steering = useMutation(steerSweep(queries, sweep.id))
  const running = isUnfinished(sweep)
  return (
    <Panel
      title="Progress"
      hint={`${formatCount(sweep.done)} of ${formatCount(sweep.total)} runs, one task for each policy`}
      testId="sweep-progress"
      actions={
        <LoginFirst may="write:sweeps" to="steer it">
          <Button
            variant="default"
            loading={steering.isPending}
            onClick={() => steering.mutate(running ? 'cancel' : 'resume')}
          >
            {running ? 'Cancel' : 'Resume'}
          </Button>
        </LoginFirst>
      }
    >
      <Progress
        value={sweep.progress_ratio * 100}
        animated={sweep.status === 'running'}
        aria-label={`Progress: ${formatRatio(sweep.progress_ratio)}`}
      />
      <ul className={classes.tasks}>
        {sweep.tasks.map((task) => (
          <li key={task.policy} className={classes.task}>
            <span className={classes.taskName}>{task.label}</span>
            <ToneTag {...sweepStatus(task.status)} />
            <span className={classes.taskCount}>
              {formatCount(task.done)} of {formatCount(task.total)}
            </span>
            {task.error !== null && (
              <span className={classes.taskError}>
                <Prose text={task.error} />
              </span>
            )}
          </li>
        ))}
      </ul>
      {steering.error !== null && (
        <p className={classes.fault} role="alert">
          <Prose text={problemText(steering.error)} />
        </p>
      )}
    </Panel>
  )
}
