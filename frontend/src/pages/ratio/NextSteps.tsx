import type { Ratio } from '../../api/_generated/schema'
import { Panel } from '../../ui/layout/Panel'
import { Prose } from '../../ui/text/Prose'
import { Timestamp } from '../../ui/text/Timestamp'
import classes from './RatioView.module.css'

/** What would firm the answer up, the most telling first, each with its command and the day on which it can be there. */
export function NextSteps({ ratio }: { ratio: Ratio }) {
  const refused = ratio.answer === 'refused'
  return (
    <Panel
      title={refused ? 'What changes that' : 'What would firm it up'}
      hint={refused ? undefined : 'the most telling first'}
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
            {step.command !== null && <pre className={classes.command}>{step.command}</pre>}
          </li>
        ))}
      </ol>
    </Panel>
  )
}
