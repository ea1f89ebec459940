import type { FleetOverview } from '../../api/_generated/schema'
import { awayWords } from '../../lib/fleet/hostsAway'
import { heatColours, tierColour } from '../../lib/palette'
import { CountStat } from '../../ui/figures/AmountStat'
import { Stat } from '../../ui/figures/Stat'
import { StatStrip } from '../../ui/figures/StatStrip'
import { Term } from '../../ui/text/Term'

/** The figures of the fleet now, whatever time range the page shows, each with its evidence. */
export function FleetStats({ fleet }: { fleet: FleetOverview | undefined }) {
  const loud =
    fleet === undefined
      ? []
      : [
          fleet.hosts_late > 0 ? `${fleet.hosts_late} late` : null,
          fleet.hosts_silent > 0 ? `${fleet.hosts_silent} silent` : null,
        ].filter((part) => part !== null)
  const away = awayWords(fleet?.away)
  return (
    <StatStrip label="The fleet now" caption="Now" columns={4}>
      <CountStat
        label={away === null ? 'Hosts reporting' : 'Visible hosts reporting'}
        value={fleet?.hosts_reporting}
        of={fleet?.hosts_total}
        note={[loud.length === 0 ? 'none late, none silent' : loud.join(', '), away]
          .filter((part) => part !== null)
          .join('; ')}
        warn={loud.length > 0 || away !== null}
      />
      <Stat label="Memory" name="Memory" figure={fleet?.memory_bytes} />
      <Stat label={<Term name="hot">Hot</Term>} name="Hot share" figure={fleet?.hot_ratio} swatch={heatColours.hot} />
      <Stat
        label={<Term name="warm">Warm</Term>}
        name="Warm share"
        figure={fleet?.warm_ratio}
        swatch={heatColours.warm}
      />
      <Stat
        label={<Term name="cold">Cold</Term>}
        name="Cold share"
        figure={fleet?.cold_ratio}
        swatch={heatColours.cold}
      />
      <Stat
        label={<Term name="hotOutside">Hot outside DRAM</Term>}
        name="Hot bytes outside DRAM"
        figure={fleet?.hot_outside_dram_bytes}
        swatch={tierColour('cxl')}
      />
      <Stat label={<Term name="promotion">Promoted</Term>} name="Promotions" figure={fleet?.promotion_pages_per_s} />
      <Stat label={<Term name="demotion">Demoted</Term>} name="Demotions" figure={fleet?.demotion_pages_per_s} />
    </StatStrip>
  )
}
