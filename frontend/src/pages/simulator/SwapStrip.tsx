import type { SweepSwap } from '../../api/_generated/schema'
import { Stat } from '../../ui/figures/Stat'
import { StatStrip } from '../../ui/figures/StatStrip'
import classes from './SweepPage.module.css'

/** From here on a device keeps up with its traffic. */
const keepsUp = 0.99

/** What the policy's swap device makes of the run's own traffic. */
export function SwapStrip({ swap }: { swap: SweepSwap }) {
  return (
    <div data-testid="sweep-swap">
      <p className={classes.totals}>
        {`Swap device under this run's own traffic: ${swap.label}. Of the host that swaps most.`}
      </p>
      <StatStrip label="Figures of the swap device" columns={6}>
        <Stat label="Write amplification" name="Write amplification" figure={swap.write_amplification} />
        <Stat label="Swap-out" name="Swap-out" figure={swap.swap_out_bytes_per_s} />
        <Stat label="Swap-in, 99 of 100 within" name="99th percentile of swap-in" figure={swap.swap_in_p99_us} />
        <Stat label="Used at most" name="Use of the device" figure={swap.used_ratio} />
        <Stat label="Flash writes, drive sizes" name="Flash writes a day" figure={swap.flash_writes_per_day} />
        <Stat label="Drive lasts" name="Life of the drive" figure={swap.drive_life_years} />
      </StatStrip>
      {swap.keeps_up_ratio.value !== null && swap.keeps_up_ratio.value < keepsUp && (
        <p className={classes.totals}>
          {`The device does not keep up: it needs ${(1 / swap.keeps_up_ratio.value).toFixed(1)} times as long as the run.`}
        </p>
      )}
    </div>
  )
}
