import { useQuery } from '@tanstack/react-query'
import type { HostDetail, NodeBench } from '../../../api/_generated/schema'
import { hostQuery } from '../../../api/queries/fleet/hosts'
import { LoadedLatencyChart } from '../../../charts/loadedLatency/LoadedLatencyChart'
import type { LoadState } from '../../../lib/loadState'
import type { Beside } from '../../../charts/ghost'
import { Panel } from '../../../ui/layout/Panel'
import { useBeside, type TimeComparison } from '../../shell/time/useTimeComparison'
import { BenchTable } from './BenchTable'
import { CxlTable } from './CxlTable'
import { Stack } from '../../../ui/layout/Stack'
import { UnmovableTable } from './UnmovableTable'

function benchesOf(host: HostDetail): NodeBench[] | null {
  const { benches } = host.hardware
  return benches.some((bench) => bench.loaded.length > 0) ? benches : null
}

/** The benches of the other host; a comparison with the host itself says that there is only its newest bench. */
function useOtherBenches(comparison: TimeComparison | null): Beside<NodeBench[]> | null {
  const id = comparison?.id ?? ''
  const other = useQuery({ ...hostQuery(id, null), enabled: id !== '' })
  const beside = useBeside(comparison, other, benchesOf)
  if (comparison === null || id !== '') return beside
  const missing = 'Of each host the newest bench alone is kept: compare it with another host.'
  return { label: comparison.words.other, missing, answer: null }
}

interface HardwareTabProps {
  host: HostDetail | undefined
  load: LoadState
  comparison: TimeComparison | null
}

/** The host's memory hardware: what its tiers were measured to do, its CXL links, and what cannot move. */
export function HardwareTab({ host, load, comparison }: HardwareTabProps) {
  const hardware = host?.hardware
  const beside = useOtherBenches(comparison)
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
      <LoadedLatencyChart benches={hardware?.benches} load={load} height={260} beside={beside} />
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
