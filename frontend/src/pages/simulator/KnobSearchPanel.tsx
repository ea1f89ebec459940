import { Button, CopyButton, SegmentedControl, Select } from '@mantine/core'
import { useState } from 'react'
import type { SweepSearch } from '../../api/_generated/schema'
import { flatnessText } from '../../charts/knobSearch/figure'
import { KnobSearchChart } from '../../charts/knobSearch/KnobSearchChart'
import type { LoadState } from '../../lib/loadState'
import { ratioName, settingsText } from '../../lib/simulate'
import { formatRatio } from '../../lib/units/units'
import classes from './SweepPage.module.css'

interface KnobSearchPanelProps {
  /** At least one. */
  searches: SweepSearch[]
  /** `policy~share` of the one that is shown; the least DRAM of the first policy unless set. */
  chosen: string | undefined
  load: LoadState
  onChoose: (key: string) => void
  onRun: (runId: string) => void
}

function keyOf(search: SweepSearch): string {
  return `${search.policy}~${search.dram_ratio.toFixed(3)}`
}

/** The search over settings, for one policy at one DRAM share: points, the best settings, how flat the best is. */
export function KnobSearchPanel({ searches, chosen, load, onChoose, onRun }: KnobSearchPanelProps) {
  const [axis, setAxis] = useState<string | null>(null)
  const byShare = [...searches].sort((a, b) => b.dram_ratio - a.dram_ratio)
  const first = byShare.filter(({ policy }) => policy === searches[0]?.policy).at(-1)
  const search = byShare.find((candidate) => keyOf(candidate) === chosen) ?? first
  if (search === undefined) return null
  const setting = search.keys.find((key) => key === axis) ?? search.keys[0] ?? ''
  const policies = new Map(searches.map(({ policy, label }) => [policy, label]))
  const open = (policy: string, share: number) => {
    const own = byShare.filter((candidate) => candidate.policy === policy)
    const next = own.find(({ dram_ratio }) => dram_ratio === share) ?? own.at(-1)
    if (next !== undefined) onChoose(keyOf(next))
  }
  return (
    <KnobSearchChart
      search={search}
      setting={setting}
      title={`Knob search: ${search.label} at ${ratioName(search.dram_ratio)}`}
      hint="simulated; how much the setting matters, and where loss is lowest"
      load={load}
      height={260}
      controls={
        <>
          {policies.size > 1 && (
            <Select
              aria-label="Policy of the knob search"
              w={190}
              value={search.policy}
              onChange={(policy) => open(policy ?? search.policy, search.dram_ratio)}
              data={[...policies].map(([value, label]) => ({ value, label }))}
            />
          )}
          <SegmentedControl
            aria-label="DRAM share of the knob search"
            value={keyOf(search)}
            onChange={onChoose}
            data={byShare
              .filter(({ policy }) => policy === search.policy)
              .map((candidate) => ({ value: keyOf(candidate), label: ratioName(candidate.dram_ratio) }))}
          />
          {search.keys.length > 1 && (
            <SegmentedControl aria-label="Setting on the axis" value={setting} onChange={setAxis} data={search.keys} />
          )}
        </>
      }
      wrap={(plot) => (
        <>
          {plot}
          <BestSettings search={search} onRun={onRun} />
        </>
      )}
    />
  )
}

function BestSettings({ search, onRun }: { search: SweepSearch; onRun: (runId: string) => void }) {
  const { best } = search
  if (best === null) return null
  return (
    <div className={classes.best} data-testid="knob-best">
      <span>
        Best: <code>{settingsText(best.settings)}</code>, loss {formatRatio(best.loss)}. {flatnessText(search)}
      </span>
      <CopyButton value={settingsText(best.settings)}>
        {({ copied, copy }) => (
          <Button variant="default" onClick={copy}>
            {copied ? 'Copied' : 'Copy settings'}
          </Button>
        )}
      </CopyButton>
      <Button variant="subtle" onClick={() => onRun(best.run_id)}>
        Open this run
      </Button>
    </div>
  )
}
