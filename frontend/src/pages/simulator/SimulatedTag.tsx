import { Tooltip } from '@mantine/core'
import { IconFlask } from '@tabler/icons-react'
import classes from './SimulatedTag.module.css'

/** Marks what no kernel did: it was computed by replaying a trace. */
export function SimulatedTag() {
  return (
    <Tooltip label="Computed by replaying a page trace under a model of the policy; not measured on a host.">
      <span className={classes.tag} tabIndex={0}>
        <IconFlask size={12} aria-hidden /> simulated
      </span>
    </Tooltip>
  )
}
