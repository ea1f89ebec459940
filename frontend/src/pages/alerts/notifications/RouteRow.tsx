import { ActionIcon, NumberInput, Select } from '@mantine/core'
import { IconTrash } from '@tabler/icons-react'
import { readMatchers } from '../../../lib/alerts'
import classes from './RoutesEditor.module.css'
import type { RouteEntry } from './routesEntry'
import { SwitchField, TextField } from '../../../ui/inputs/fields'

interface RouteRowProps {
  route: RouteEntry
  receivers: string[]
  onChange: (change: Partial<RouteEntry>) => void
  onRemove: () => void
}

/** One route in the editor. Inner routes stay, and are counted. */
export function RouteRow({ route, receivers, onChange, onRemove }: RouteRowProps) {
  const read = readMatchers(route.matchers)
  const inner = route.rest?.routes?.length ?? 0
  return (
    <div className={classes.row}>
      <TextField
        label="Matchers"
        w={280}
        placeholder="every alert"
        value={route.matchers}
        error={typeof read === 'string' ? read : undefined}
        onText={(matchers) => onChange({ matchers })}
      />
      <Select
        allowDeselect
        label="Receiver"
        w={160}
        value={route.receiver === '' ? null : route.receiver}
        onChange={(value) => onChange({ receiver: value ?? '' })}
        data={[...new Set([...receivers, ...(route.receiver === '' ? [] : [route.receiver])])]}
      />
      <TextField
        label="Group by"
        w={150}
        placeholder="alertname"
        value={route.groupBy}
        onText={(groupBy) => onChange({ groupBy })}
      />
      <NumberInput
        w={110}
        label="Group wait"
        suffix=" s"
        placeholder="30 s"
        min={0}
        value={route.waitSeconds}
        onChange={(waitSeconds) => onChange({ waitSeconds })}
      />
      <NumberInput
        w={110}
        label="Repeat interval"
        suffix=" h"
        placeholder="4 h"
        min={0}
        value={route.repeatHours}
        onChange={(repeatHours) => onChange({ repeatHours })}
      />
      <SwitchField label="continue" checked={route.goOn} onChecked={(goOn) => onChange({ goOn })} />
      {inner > 0 && <span>and {inner} nested routes</span>}
      <ActionIcon aria-label="Remove route" onClick={onRemove}>
        <IconTrash size={14} />
      </ActionIcon>
    </div>
  )
}
