import classes from './Fault.module.css'
import { Prose } from './Prose'

/** Why something that was asked for was not done, and the next step. */
export function Fault({ text }: { text: string }) {
  return (
    <p className={classes.fault} role="alert">
      <Prose text={text} />
    </p>
  )
}
