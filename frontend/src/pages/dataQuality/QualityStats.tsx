import type { FleetQuality } from '../../api/_generated/schema'
import { Stat } from '../../ui/figures/Stat'
import { StatStrip } from '../../ui/figures/StatStrip'

const stats = [
  ['received', 'Received', 'Intervals received'],
  ['missing', 'Missing', 'Intervals missing'],
  ['late', 'Late', 'Intervals that came later than ten minutes'],
  ['corrected', 'Time rebuilt', 'Intervals whose time was rebuilt'],
  ['too_late', 'Too late', 'Intervals that came too late to be kept'],
  ['set_aside', 'Set aside', 'Intervals set aside'],
  ['duplicates', 'Sent again', 'Batches that came again'],
  ['dropped', 'Dropped', 'Batches that agents dropped'],
] as const

/** Sums over all hosts; zero, not collected and not enough data look different. */
export function QualityStats({ fleet }: { fleet: FleetQuality | undefined }) {
  return (
    <StatStrip label="Data quality of the fleet" columns={4}>
      {stats.map(([key, label, name]) => (
        <Stat key={key} label={label} name={name} figure={fleet?.[key]} />
      ))}
    </StatStrip>
  )
}
