import { Prose } from '../text/Prose'
import classes from './Fault.module.css'

/** Why something that was asked for was not done, and the next step. */
export function Fault({ text }: { text: string }) {
  return (
    <p className={classes.fault} role="alert">
      <Prose text={text} />
    </p>
  )
}
