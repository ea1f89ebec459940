import { tierColour } from '../../lib/palette'
import classes from './TierTags.module.css'

/** The tier classes of a host, each with its fixed colour and its name. */
export function TierTags({ tiers }: { tiers: string[] }) {
  if (tiers.length === 0) return <span className={classes.none}>unknown</span>
  return (
    <span className={classes.tags}>
      {tiers.map((tier, index) => (
        <span key={`${tier}-${index}`} className={classes.tag}>
          <span className={classes.swatch} style={{ background: tierColour(tier.toLowerCase()) }} />
          {tier}
        </span>
      ))}
    </span>
  )
}
