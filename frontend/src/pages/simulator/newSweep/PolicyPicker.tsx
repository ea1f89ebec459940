import { Button, Checkbox, Skeleton } from '@mantine/core'
import type { SimulatorPolicy } from '../../../api/_generated/schema'
import classes from '../SimulatorPage.module.css'

interface PolicyPickerProps {
  policies: SimulatorPolicy[] | undefined
  chosen: string[]
  onChange: (chosen: string[]) => void
}

/** The policies to replay; those without a slower tier use DRAM and swap alone. */
export function PolicyPicker({ policies, chosen, onChange }: PolicyPickerProps) {
  // The sweep keeps the order of the list, whatever the order of the clicks.
  const choose = (names: string[]) =>
    onChange((policies ?? []).map(({ name }) => name).filter((name) => names.includes(name)))
  return (
    <fieldset className={classes.part}>
      <legend>Policies</legend>
      {policies === undefined ? (
        <Skeleton height={96} />
      ) : (
        <>
          <Checkbox.Group value={chosen} onChange={choose} aria-label="Policies">
            <div className={classes.choices}>
              {policies.map((policy) => (
                <Checkbox
                  key={policy.name}
                  value={policy.name}
                  label={policy.label}
                  description={policy.has_slow_tier ? undefined : 'no slower tier'}
                />
              ))}
            </div>
          </Checkbox.Group>
          <div className={classes.row}>
            <Button variant="subtle" size="compact-xs" onClick={() => choose(policies.map(({ name }) => name))}>
              All
            </Button>
            <Button variant="subtle" size="compact-xs" onClick={() => choose([])}>
              None
            </Button>
          </div>
        </>
      )}
    </fieldset>
  )
}
