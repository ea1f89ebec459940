import { ActionIcon, MultiSelect, NumberInput } from '@mantine/core'
import { IconTrash } from '@tabler/icons-react'
import type { PlanSku } from '../../api/_generated/schema'
import { formatBytes } from '../../lib/units/units'
import classes from './CapacityPage.module.css'
import { dimmSizesGib, gib, mostMemory } from './planEntry'
import { TextField } from '../../ui/inputs/fields'

interface SkuCardProps {
  sku: PlanSku
  onChange: (sku: PlanSku) => void
  /** Undefined for the last one, which stays. */
  onRemove: (() => void) | undefined
}

/** A kind of host: its slots and modules, its CXL devices, and what it holds at most. */
export function SkuCard({ sku, onChange, onRemove }: SkuCardProps) {
  const set = (next: Partial<PlanSku>) => onChange({ ...sku, ...next })
  const count = (key: 'dram_slots' | 'dimms_min' | 'dimm_step' | 'cxl_devices_max', label: string, min: number) => (
    <NumberInput
      label={label}
      min={min}
      max={128}
      allowDecimal={false}
      value={sku[key]}
      onChange={(value) => value !== '' && set({ [key]: Math.max(min, Number(value)) })}
    />
  )
  const { dram, cxl } = mostMemory(sku)
  return (
    <fieldset className={classes.sku} aria-label={`Host type ${sku.name}`}>
      <div className={classes.form}>
        <TextField
          label="Name"
          maxLength={100}
          value={sku.name}
          onText={(name) => set({ name })}
          rightSection={
            onRemove !== undefined && (
              <ActionIcon aria-label={`Remove ${sku.name}`} onClick={onRemove}>
                <IconTrash size={14} />
              </ActionIcon>
            )
          }
        />
        {count('dram_slots', 'DIMM slots', 1)}
        <MultiSelect
          className={classes.wide ?? ''}
          label="DIMM sizes"
          value={sku.dimm_bytes.map(String)}
          onChange={(sizes) => set({ dimm_bytes: sizes.map(Number).sort((a, b) => a - b) })}
          data={dimmSizesGib.map((size) => ({ value: String(size * gib), label: `${size} GiB` }))}
        />
        {count('dimms_min', 'Minimum DIMMs', 1)}
        {count('dimm_step', 'Increment', 1)}
        {count('cxl_devices_max', 'Maximum CXL devices', 0)}
        <NumberInput
          label="CXL device"
          suffix=" GiB"
          min={0}
          max={8192}
          value={sku.cxl_device_bytes / gib}
          onChange={(value) => value !== '' && set({ cxl_device_bytes: Number(value) * gib })}
        />
        <NumberInput
          label="Cores (optional)"
          min={1}
          value={sku.cores ?? ''}
          onChange={(value) => set({ cores: value === '' ? null : Number(value) })}
        />
        <NumberInput
          label="Price (optional)"
          min={0}
          value={sku.price ?? ''}
          onChange={(value) => set({ price: value === '' ? null : Number(value) })}
        />
      </div>
      <p className={classes.words}>
        Up to {formatBytes(dram)} of DRAM{cxl > 0 && ` and ${formatBytes(cxl)} of CXL memory`}.
      </p>
    </fieldset>
  )
}
