import { Tooltip } from '@mantine/core'
import classes from './TrustTag.module.css'

type TrustLevel = 'exact' | 'bound' | 'sampled' | 'partial' | 'not_supported' | 'not_collected'

const meanings: Record<TrustLevel, string> = {
  exact: 'The kernel counts exactly this.',
  bound: 'The counters give a bound, not the value.',
  sampled: 'Estimated from samples.',
  partial: 'The counters miss a part or include something else.',
  not_supported: 'This kernel has no such counter.',
  not_collected: 'What reports the host does not send it; the kernel may count it.',
}

/** How far a column's counters can be trusted. */
export function TrustTag({ trust }: { trust: TrustLevel }) {
  return (
    <Tooltip label={meanings[trust]}>
      <span className={classes.tag} data-trust={trust}>
        {trust.replaceAll('_', ' ')}
      </span>
    </Tooltip>
  )
}
