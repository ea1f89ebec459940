import { Button, CopyButton, SegmentedControl } from '@mantine/core'
import { useState } from 'react'
import type { SweepSearch } from '../../api/_generated/schema'
import { flatnessText } from '../../charts/knobSearch/figure'
import { KnobSearchChart } from '../../charts/knobSearch/KnobSearchChart'
import type { LoadState } from '../../lib/loadState'
import { ratioName, settingsText } from '../../lib/simulate'
import { formatRatio } from '../../lib/units'
import classes from './SweepPage.module.css'

interface KnobSearchPanelProps {
  search: SweepSearch
  load: LoadState
  onRun: (runId: string) => void
}

/** The search over settings for one policy at one DRAM share: points, the best settings, and how flat the best is. */
export function KnobSearchPanel({ search, load, onRun }: KnobSearchPanelProps) {
  const [chosen, setChosen] = useState<string | null>(null)
  const setting = search.keys.find((key) => key === chosen) ?? search.keys[0] ?? ''
  const { best } = search
  return (
    <KnobSearchChart
      search={search}
      setting={setting}
      title={`Knob search: ${search.label} at ${ratioName(search.dram_ratio)}`}
      hint="simulated; how much the setting matters, and where the loss is least"
      load={load}
      height={240}
      controls={
        search.keys.length > 1 ? (
          <SegmentedControl aria-label="Setting on the axis" value={setting} onChange={setChosen} data={search.keys} />
        ) : undefined
      }
      wrap={(plot) => (
        <>
          {plot}
          {best !== null && (
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
          )}
        </>
      )}
    />
  )
}
