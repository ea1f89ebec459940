import { Select } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { loadStateOf } from '../../api/queries/base/loadState'
import { swapDevicesQuery } from '../../api/queries/simulate/simulate'
import { swapQuantities } from '../../charts/swapDevices/figure'
import { SwapDevicesChart } from '../../charts/swapDevices/SwapDevicesChart'
import { swapLoads, type SwapLoad, type SwapQuantity } from '../../lib/url/simulatorUrl'

const route = getRouteApi('/simulator')

const loadNames: Record<SwapLoad, string> = {
  read_mostly: 'Read-mostly (5 % writes)',
  mixed: 'Mixed (half writes)',
  write_heavy: 'Write-heavy (all writes)',
}

/** What swap devices make of their load, by how full they are; load and quantity stand in the address. */
export function SwapDevicesPanel() {
  const { swapLoad = 'mixed', swapShow = 'amplification' } = route.useSearch()
  const navigate = route.useNavigate()
  const query = useQuery(swapDevicesQuery(swapLoad))
  const choose = (next: { swapLoad?: SwapLoad; swapShow?: SwapQuantity }) =>
    void navigate({ search: (before) => ({ ...before, ...next }), replace: true, resetScroll: false })
  return (
    <SwapDevicesChart
      answer={query.data}
      quantity={swapShow}
      load={loadStateOf(query)}
      controls={
        <>
          <Select
            aria-label="Quantity of swap devices"
            size="xs"
            value={swapShow}
            data={Object.entries(swapQuantities).map(([value, { label }]) => ({ value, label }))}
            onChange={(value) => choose({ swapShow: value as SwapQuantity })}
          />
          <Select
            aria-label="Load of swap devices"
            size="xs"
            value={swapLoad}
            data={swapLoads.map((value) => ({ value, label: loadNames[value] }))}
            onChange={(value) => choose({ swapLoad: value as SwapLoad })}
          />
        </>
      }
    />
  )
}
