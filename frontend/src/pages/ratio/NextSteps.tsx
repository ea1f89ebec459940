import type { Ratio } from '../../api/_generated/schema'
import { Panel } from '../../ui/layout/Panel'
import { Prose } from '../../ui/text/Prose'
import { Timestamp } from '../../ui/text/Timestamp'
import { narrowingWords } from './ratioWords'
import classes from './RatioView.module.css'

/** What would firm the answer up, each with by how much it would narrow it, its command and the earliest day. */
export function NextSteps({ ratio }: { ratio: Ratio }) {
  const refused = ratio.answer === 'refused'
  return (
    <Panel
      title={refused ? 'What changes that' : 'What would change this answer most'}
      hint={refused ? undefined : 'each step alone; what decides whether one ratio can be named comes first'}
      testId={refused ? 'ratio-refused' : 'ratio-steps'}
    >
      <ol className={classes.steps}>
        {ratio.next_steps.map((step) => (
          <li key={step.text}>
            <Prose text={step.text} />{' '}
            {step.by !== null && (
              <span className={classes.why}>
                {step.raises_to ?? 'done'} from <Timestamp at={step.by} /> on
              </span>
            )}
            {narrowingWords(step) !== null && <strong className={classes.narrows}>{narrowingWords(step)}</strong>}
            {step.command !== null && <pre className={classes.command}>{step.command}</pre>}
          </li>
        ))}
      </ol>
    </Panel>
  )
}
