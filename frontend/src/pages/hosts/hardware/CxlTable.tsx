import type { CxlDevice } from '../../../api/_generated/schema'
import { formatBytes, formatCount } from '../../../lib/units/units'
import { Nothing } from '../../../ui/states/Nothing'
import type { Column } from '../../../ui/tables/column'
import { DataTable } from '../../../ui/tables/DataTable'
import { amountColumn } from '../../../ui/tables/figureColumn'
import { ToneTag } from '../../../ui/tags/ToneTag'

const unknown = <Nothing status="not_supported" reason="The kernel does not say." />

function link(speed: number | null, width: number | null): string | null {
  if (speed === null && width === null) return null
  return `${width === null ? '' : `x${width}`}${speed === null ? '' : ` at ${speed} GT/s`}`.trim()
}

function errors(count: number | null) {
  if (count === null) return unknown
  return count > 0 ? <strong>{formatCount(count)}</strong> : '0'
}

function LinkState({ device }: { device: CxlDevice }) {
  const now = link(device.link_gigatransfers_per_s, device.link_width)
  const best = link(device.max_link_gigatransfers_per_s, device.max_link_width)
  if (device.degraded === null) return unknown
  return device.degraded ? (
    <ToneTag
      tone="warning"
      label="degraded"
      meaning={`The link runs at ${now ?? '?'}; the device supports ${best ?? '?'}.`}
    />
  ) : (
    <ToneTag tone="good" label="full" meaning="The link runs at full speed." />
  )
}

const columns: Column<CxlDevice>[] = [
  {
    key: 'name',
    header: 'Device',
    cell: (device) => (
      <span className="ts-mono" title={device.serial === null ? undefined : `serial ${device.serial}`}>
        {device.name}
      </span>
    ),
  },
  { key: 'pci', header: 'PCI address', cell: (device) => device.pci_address ?? unknown },
  {
    key: 'node',
    header: 'Node',
    numeric: true,
    cell: (device) => device.numa_node ?? unknown,
    value: (device) => device.numa_node,
  },
  amountColumn('size', 'Memory', (device) => device.ram_bytes, formatBytes, { unit: 'bytes', absent: unknown }),
  {
    key: 'state',
    header: 'Link',
    cell: (device) => <LinkState device={device} />,
    value: ({ degraded }) => (degraded === null ? null : degraded ? 'degraded' : 'full'),
  },
  {
    key: 'now',
    header: 'Current',
    value: (device) => link(device.link_gigatransfers_per_s, device.link_width),
    cell: (device) => link(device.link_gigatransfers_per_s, device.link_width) ?? unknown,
  },
  {
    key: 'best',
    header: 'Maximum',
    value: (device) => link(device.max_link_gigatransfers_per_s, device.max_link_width),
    cell: (device) => link(device.max_link_gigatransfers_per_s, device.max_link_width) ?? unknown,
  },
  {
    key: 'correctable',
    header: 'Correctable',
    numeric: true,
    cell: (device) => errors(device.aer_correctable),
    value: (device) => device.aer_correctable,
  },
  {
    key: 'nonfatal',
    header: 'Non-fatal',
    numeric: true,
    cell: (device) => errors(device.aer_nonfatal),
    value: (device) => device.aer_nonfatal,
  },
  {
    key: 'fatal',
    header: 'Fatal',
    numeric: true,
    cell: (device) => errors(device.aer_fatal),
    value: (device) => device.aer_fatal,
  },
  { key: 'firmware', header: 'Firmware', cell: (device) => device.firmware_version ?? unknown },
]

/** CXL memory devices with their links and errors since boot. `hasTier`: the kernel shows a CXL tier. */
export function CxlTable({ devices, hasTier }: { devices: CxlDevice[] | undefined; hasTier: boolean }) {
  return (
    <DataTable
      label="CXL memory devices"
      columns={columns}
      rows={devices}
      rowKey={(device) => device.name}
      skeletonRows={2}
      empty={
        hasTier
          ? {
              title: 'CXL devices not reported',
              next: 'The host has a CXL tier, but its agent saw no device in /sys/bus/cxl: the kernel has no CXL driver, or the firmware set the memory up by itself.',
            }
          : { title: 'No CXL memory devices', next: 'This host has none, or its kernel has no CXL driver.' }
      }
    />
  )
}
