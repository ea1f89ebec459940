import { Button } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { useMemo, type ReactNode } from 'react'
import type { TcoAnswer } from '../../api/_generated/schema'
import { valueAt } from '../../lib/tco/scenarioSpec'
import { Headline } from '../../ui/layout/Headline'
import { Panel } from '../../ui/layout/Panel'
import { ProblemState } from '../../ui/states/ProblemState'
import { Prose } from '../../ui/text/Prose'
import { Stack } from '../../ui/layout/Stack'
import { ComparePanel } from './ComparePanel'
import { InputsPanel } from './InputsPanel'
import { PresetBar } from './PresetBar'
import { PriceDialog } from './PriceDialog'
import { ScenarioBar } from './ScenarioBar'
import { optionNames } from './optionEntry'
import { tcoSentence } from './tcoWords'
import { TcoResults } from './TcoResults'
import classes from './TcoPage.module.css'
import { useScenario } from './useScenario'

/** What hosts with several tiers of memory would cost: inputs left, totals right. */
export function TcoPage(): ReactNode {
  const { scenario: state, cost, load, source } = useScenario()
  const [pricing, prices] = useDisclosure(false)
  const { spec } = state
  const names = useMemo(() => (spec === undefined ? [] : optionNames(spec)), [spec])
  const option = Math.min(Math.max(0, names.length - 1), (state.search.option ?? 1) - 1)
  if (source.problem !== null && spec === undefined) {
    return <ProblemState problem={source.problem} onRetry={source.retry} />
  }
  const currency = String(valueAt(spec, 'currency') ?? 'USD')
  return (
    <div data-testid="page-tco">
      <Headline
        kicker={
          <>
            <h1>TCO</h1> <span>{String(valueAt(spec, 'name') ?? '')}</span>
            {state.search.set !== undefined && <span>(changed)</span>}
          </>
        }
        sentence={cost === undefined ? undefined : tcoSentence(cost, cost.options[option])}
      />
      <div className={classes.head}>
        <ScenarioBar state={state} />
        <PriceLine cost={cost} onPrices={prices.open} />
      </div>
      <PresetBar state={state} />
      <div className={classes.page}>
        <div className={classes.inputs}>
          <InputsPanel state={state} option={option} loss={cost?.options[option]?.loss} onPrices={prices.open} />
        </div>
        <Stack>
          {load.problem !== null && <ProblemState problem={load.problem} onRetry={load.retry} />}
          {cost !== undefined && cost.missing.length > 0 && <Missing cost={cost} onPrices={prices.open} />}
          {cost !== undefined && cost.missing.length === 0 && load.problem === null && (
            <TcoResults state={state} answer={cost} option={option} />
          )}
          {(cost !== undefined || load.problem !== null) && <ComparePanel state={state} />}
        </Stack>
      </div>
      <PriceDialog
        opened={pricing}
        onClose={prices.close}
        currency={currency}
        onTake={(item, price) => state.put(`prices.${item}`, price)}
      />
    </div>
  )
}

/** The price of DRAM in force with its day and source: always in sight, because it decides most. */
function PriceLine({ cost, onPrices }: { cost: TcoAnswer | undefined; onPrices: () => void }) {
  const dram = cost?.inputs.find(({ name }) => name === 'dram')
  return (
    <div className={classes.priceLine} data-testid="tco-price-date">
      {dram === undefined ? (
        'DRAM: no price confirmed'
      ) : (
        <>
          DRAM <strong>{dram.value.toLocaleString('en-US', { maximumFractionDigits: 2 })}</strong> {dram.unit}, as of{' '}
          {dram.date ?? 'an unknown date'}: {dram.source}
        </>
      )}
      <Button variant="default" size="compact-xs" onClick={onPrices}>
        {dram === undefined ? 'Confirm a price' : 'Change'}
      </Button>
    </div>
  )
}

/** What keeps totals from being shown, and what to do about it. */
function Missing({ cost, onPrices }: { cost: TcoAnswer; onPrices: () => void }) {
  return (
    <Panel title="Missing for a total" testId="tco-missing">
      {cost.missing.map(({ what, path, why, next_step: next }) => (
        <div key={path} className={classes.missing}>
          <p>
            <strong>
              <Prose text={what} />:
            </strong>{' '}
            <Prose text={why} />. <Prose text={next} />
          </p>
          {path.startsWith('prices.') && <Button onClick={onPrices}>Confirm a price</Button>}
        </div>
      ))}
    </Panel>
  )
}
