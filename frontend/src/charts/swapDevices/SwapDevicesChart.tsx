import { useMemo, type ReactNode } from 'react'
import type { SwapDevices } from '../../api/_generated/schema'
import type { LoadState } from '../../lib/loadState'
import type { SwapQuantity } from '../../lib/url/simulatorUrl'
import { ChartPanel } from '../ChartPanel'
import { useFigure } from '../useFigure'
import { deviceLines, familyOf, swapDevicesFigure, swapQuantities } from './figure'

interface SwapDevicesChartProps {
  answer: SwapDevices | undefined
  quantity: SwapQuantity
  load: LoadState
  controls: ReactNode
}

/** Swap devices against their use: one quantity of each, simulated. */
export function SwapDevicesChart({ answer, quantity, load, controls }: SwapDevicesChartProps) {
  const figure = useFigure(swapDevicesFigure, answer, quantity)
  const lines = useMemo(() => (answer === undefined ? [] : deviceLines(answer, quantity)), [answer, quantity])
  return (
    <ChartPanel
      chart="swapDevices"
      name="swap-devices"
      title="Swap devices"
      label={`${swapQuantities[quantity].label} of swap devices against their use`}
      hint="Simulated. Solid: block SSDs. Dashed: zoned SSDs. Dotted: compressed memory. Whiskers: 95 % interval of three seeds."
      load={load}
      figure={figure}
      height={340}
      controls={controls}
      legend={lines.map(({ label, colour, device }) => ({ label, colour, line: familyOf(device).legend }))}
      empty={
        answer !== undefined && lines.length === 0
          ? { title: 'No device has this figure', next: 'Choose another quantity or load.' }
          : null
      }
    />
  )
}
