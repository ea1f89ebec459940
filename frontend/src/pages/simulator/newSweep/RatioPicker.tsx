import { Button, Chip, NumberInput } from '@mantine/core'
import { useState } from 'react'
import { ratioName, ratioPresets } from '../../../lib/simulate'
import { formatRatio } from '../../../lib/units/units'
import classes from '../SimulatorPage.module.css'

interface RatioPickerProps {
  /** DRAM shares, 0 to 1. */
  chosen: number[]
  onChange: (chosen: number[]) => void
}

/** The DRAM shares to replay at: the usual ratios, and any other. */
export function RatioPicker({ chosen, onChange }: RatioPickerProps) {
  const [own, setOwn] = useState<number | string>('')
  const others = chosen.filter((share) => !ratioPresets.some(({ dramRatio }) => dramRatio === share))
  const shares = [...ratioPresets.map(({ dramRatio }) => dramRatio), ...others].sort((a, b) => b - a)
  const share = Number(own) / 100
  const valid = own !== '' && share > 0 && share <= 1 && !chosen.includes(share)
  const add = () => {
    if (!valid) return
    onChange([...chosen, share])
    setOwn('')
  }
  return (
    <fieldset className={classes.part}>
      <legend>DRAM:CXL</legend>
      <div className={classes.row}>
        <Chip.Group multiple value={chosen.map(String)} onChange={(next) => onChange(next.map(Number))}>
          {shares.map((candidate) => (
            <Chip key={candidate} size="xs" value={String(candidate)}>
              {ratioName(candidate)} · {formatRatio(candidate)} DRAM
            </Chip>
          ))}
        </Chip.Group>
        <NumberInput
          w={120}
          aria-label="Another DRAM share in per cent"
          placeholder="other share"
          suffix=" %"
          min={1}
          max={100}
          value={own}
          onChange={setOwn}
          onKeyDown={(event) => {
            if (event.key !== 'Enter') return
            event.preventDefault()
            add()
          }}
        />
        <Button variant="default" disabled={!valid} onClick={add}>
          Add
        </Button>
      </div>
    </fieldset>
  )
}
