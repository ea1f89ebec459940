import type { ServiceHeat } from '../../../api/_generated/schema'
import { heatColours, tierColour } from '../../../lib/palette'
import { Stat } from '../../../ui/figures/Stat'
import { StatStrip } from '../../../ui/figures/StatStrip'
import { EmptyState } from '../../../ui/states/EmptyState'
import { Term } from '../../../ui/text/Term'

const names = { hot: 'Hot', warm: 'Warm', cold: 'Cold', unknown: 'Unknown' } as const
const loading = ['hot', 'warm', 'cold'] as const

interface HeatStatsProps {
  heat: ServiceHeat | undefined
  /** Why the service has no heat at all; null where it has some. */
  reason: string | null
}

/** The classes of the scheme in force as headline figures, and the two that say what to do. */
export function HeatStats({ heat, reason }: HeatStatsProps) {
  // Nothing unknown is the usual case and needs no place of its own.
  const known = heat?.classes.filter(({ heat_class: name, ratio }) => name !== 'unknown' || ratio.value !== 0)
  const classes = known ?? loading.map((heat_class) => ({ heat_class, ratio: undefined }))
  return (
    <>
      {reason !== null && <EmptyState title="Heat is not measured for this service" next={reason} />}
      <StatStrip label="Heat of the service" columns={classes.length + 2}>
        {classes.map(({ heat_class: name, ratio }) => (
          <Stat
            key={name}
            label={name === 'unknown' ? names[name] : <Term name={name}>{names[name]}</Term>}
            name={`${names[name]} share`}
            figure={ratio}
            swatch={heatColours[name]}
          />
        ))}
        <Stat
          label={<Term name="hotOutside">Hot outside DRAM</Term>}
          name="Hot bytes outside DRAM"
          figure={heat?.hot_outside_dram_bytes}
          swatch={tierColour('cxl')}
        />
        <Stat
          label={<Term name="coldInside">Cold in DRAM</Term>}
          name="Cold bytes in DRAM"
          figure={heat?.cold_in_dram_bytes}
          swatch={tierColour('dram')}
        />
      </StatStrip>
    </>
  )
}
