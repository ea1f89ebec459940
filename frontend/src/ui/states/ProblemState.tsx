import { Button } from '@mantine/core'
import { IconAlertTriangle } from '@tabler/icons-react'
import type { ProblemText } from '../../lib/loadState'
import { Prose } from '../text/Prose'
import classes from './ProblemState.module.css'

/** What went wrong, why, what to do next, and a way to try again. */
export function ProblemState({ problem, onRetry }: { problem: ProblemText; onRetry: () => void }) {
  return (
    <div className={classes.problem} role="alert" data-testid="problem-state">
      <p className={classes.title}>
        <IconAlertTriangle size={16} aria-hidden /> {problem.title}
        {problem.status > 0 && <span className={classes.status}>{problem.status}</span>}
      </p>
      <p className={classes.text}>
        <Prose text={problem.detail} />
      </p>
      <p className={classes.text}>
        <strong>Next:</strong> <Prose text={problem.nextStep} />
      </p>
      {problem.status === 401 && (
        <p className={classes.text}>
          <a href={`/login?next=${encodeURIComponent(window.location.pathname + window.location.search)}`}>Log in</a>
        </p>
      )}
      <Button variant="default" onClick={onRetry}>
        Retry
      </Button>
    </div>
  )
}
