import type { HostDetail } from '../../../api/_generated/schema'
import { LoadedLatencyChart } from '../../../charts/loadedLatency/LoadedLatencyChart'
import type { LoadState } from '../../../lib/loadState'
import { Panel } from '../../../ui/layout/Panel'
import { BenchTable } from './BenchTable'
import { CxlTable } from './CxlTable'
import { Stack } from '../../../ui/layout/Stack'
import { UnmovableTable } from './UnmovableTable'

/** The host's memory hardware: what its tiers were measured to do, its CXL links, and what cannot move. */
export function HardwareTab({ host, load }: { host: HostDetail | undefined; load: LoadState }) {
  const hardware = host?.hardware
  const degraded = hardware?.cxl_devices.filter((device) => device.degraded === true).length ?? 0
  return (
    <Stack>
      <Panel
        title="Measured memory tiers"
        hint={
          <>
            by <code>tierscope-agent bench</code> on this host; firmware ratings are on the overview
          </>
        }
        flush
        testId="bench"
      >
        <BenchTable benches={hardware?.benches} />
      </Panel>
      <LoadedLatencyChart benches={hardware?.benches} load={load} height={260} />
      <Panel
        title="CXL devices"
        hint={degraded > 0 ? `${degraded} with a degraded link` : 'current and maximum link, errors since boot'}
        flush
        testId="cxl"
      >
        <CxlTable devices={hardware?.cxl_devices} hasTier={host?.summary.tiers.includes('cxl') ?? false} />
      </Panel>
      <Panel title="Unmovable memory" hint="memory that cannot move between tiers" flush testId="unmovable">
        <UnmovableTable nodes={hardware?.unmovable} />
      </Panel>
    </Stack>
  )
}
