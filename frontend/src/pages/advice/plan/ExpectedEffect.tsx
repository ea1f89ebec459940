import type { Figure } from '../../../api/_generated/schema'
import { FigureText } from '../../../ui/figures/FigureText'
import classes from './ChangePlan.module.css'

/** The number that advice expects, and of what: its definition is `knobs.effect.<what>/1`. */
export function ExpectedEffect({ figure }: { figure: Figure }) {
  const what = figure.definition.replace(/^knobs\.effect\./, '').replace(/\/\d+$/, '')
  const name = what.replaceAll('_', ' ')
  return (
    <span className={classes.effect}>
      <FigureText figure={figure} label={`Expected ${name}`} />
      <span className={classes.dimmed}>{name}</span>
    </span>
  )
}
