import { IconFlask } from '@tabler/icons-react'
import classes from './SimulatedBanner.module.css'

/** Says on every page that hosts of the fleet are made up. */
export function SimulatedBanner() {
  return (
    <div className={classes.banner} role="note" data-testid="simulated-banner">
      <IconFlask size={15} aria-hidden />
      <span>
        <strong>Simulated data.</strong> Hosts and services of this fleet are not real, but for those that you add.
      </span>
    </div>
  )
}
