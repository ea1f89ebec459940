import { IconFlask } from '@tabler/icons-react'
import classes from './SimulatedBanner.module.css'

/** Says on every page that what it shows is not a real fleet. */
export function SimulatedBanner() {
  return (
    <div className={classes.banner} role="note" data-testid="simulated-banner">
      <IconFlask size={15} aria-hidden />
      <span>
        <strong>Simulated data.</strong> No host or service of this fleet is real.
      </span>
    </div>
  )
}
