import { Button } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import type { Ratio } from '../../api/_generated/schema'
import classes from './RatioView.module.css'

/** What to do with the answer: replay other policies on this service's samples, cost it, plan its capacity. */
export function ChainLinks({ ratio }: { ratio: Ratio }) {
  const { service_id: service, parts } = ratio
  const cost = { start: 'cxl' as const, service, share: parts === null ? undefined : parts.dram_ratio }
  return (
    <div className={classes.chain} data-testid="ratio-chain">
      <Button
        size="compact-sm"
        variant="default"
        renderRoot={(props) => <Link {...props} to="/simulator" search={{ service }} />}
      >
        Try other policies
      </Button>
      <Button size="compact-sm" variant="default" renderRoot={(props) => <Link {...props} to="/tco" search={cost} />}>
        Cost it
      </Button>
      <Button
        size="compact-sm"
        variant="default"
        renderRoot={(props) => <Link {...props} to="/capacity" search={{ subject: service, metric: 'dram_need' }} />}
      >
        Plan capacity
      </Button>
    </div>
  )
}
