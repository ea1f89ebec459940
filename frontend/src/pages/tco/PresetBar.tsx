import { Button, Skeleton, Tooltip } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { memo } from 'react'
import type { ScenarioPresets } from '../../api/_generated/schema'
import { awayWords } from '../../lib/fleet/hostsAway'
import type { TcoSearch } from '../../lib/url/tcoUrl'
import { formatBytes, formatCount, formatRatio } from '../../lib/units/units'
import { Prose } from '../../ui/text/Prose'
import { keptChanges } from './tcoInputs'
import classes from './TcoPage.module.css'
import type { ScenarioState } from './useScenario'

/** Scenarios of the real fleet, or of the service that the page came from: one click fills all of the inputs in. */
export const PresetBar = memo(function PresetBar({ state }: { state: ScenarioState }) {
  const { presets, search, scenarioId } = state
  const starting = scenarioId === undefined ? state.starting : undefined
  const to = (next: Partial<TcoSearch>) => (before: TcoSearch) => ({
    ...before,
    ...next,
    set: keptChanges(before.set),
    option: undefined,
  })
  return (
    <div className={classes.presets} data-testid="tco-presets">
      <span className={classes.words}>{presets === undefined ? 'From your hosts' : subjectWords(presets)}</span>
      {presets === undefined ? (
        <Skeleton height={26} width={320} />
      ) : (
        presets.presets.map(({ key, label, why_not: why }) => (
          <Tooltip key={key} label={why ?? presets.advice} multiline maw={360}>
            <Button
              size="compact-sm"
              variant={starting === key ? 'filled' : 'default'}
              aria-current={starting === key ? 'true' : undefined}
              data-disabled={why !== null || undefined}
              aria-disabled={why !== null}
              {...(why === null
                ? { renderRoot: (props) => <Link {...props} from="/tco" to="/tco" search={to({ start: key })} /> }
                : {})}
            >
              {label}
            </Button>
          </Tooltip>
        ))
      )}
      <Link
        from="/tco"
        to="/tco"
        search={to({ start: 'example' })}
        aria-current={starting === 'example' ? 'true' : undefined}
      >
        an example of 1,000 hosts
      </Link>
      {search.service !== undefined && (
        <Link from="/tco" to="/tco" search={to({ service: undefined, share: undefined })}>
          whole fleet
        </Link>
      )}
      {presets !== undefined && (
        <span className={classes.dimmed}>
          <Prose text={presets.advice} />
        </span>
      )}
    </div>
  )
})

function subjectWords(presets: ScenarioPresets): string {
  const away = awayWords(presets.away)
  return away === null ? memoryWords(presets) : `${memoryWords(presets)}; ${away}`
}

/** Presets state memory in GiB. */
const gib = 1024 ** 3

function memoryWords({ subject, n_hosts: hosts, dram_gb: dram, slow_gb: slow, ...rest }: ScenarioPresets): string {
  const whose = subject === 'fleet' ? 'Your fleet' : subject
  const counted = `${formatCount(hosts)} ${rest.simulated ? 'simulated or recorded ' : ''}${hosts === 1 ? 'host' : 'hosts'}`
  if (dram === null || slow === null) return `${whose}: ${counted}`
  const cxl = slow > 0 ? ` + ${formatBytes(slow * gib)} slower (${formatRatio(dram / (dram + slow))} DRAM)` : ''
  return `${whose}: ${counted}, ${formatBytes(dram * gib)} DRAM${cxl} each`
}
