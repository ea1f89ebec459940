import { useMemo } from 'react'
import type { Option, TcoAnswer } from '../../api/_generated/schema'
import { CostWaterfallChart } from '../../charts/costWaterfall/CostWaterfallChart'
import { SavingDistributionChart } from '../../charts/savingDistribution/SavingDistributionChart'
import { TornadoChart } from '../../charts/tornado/TornadoChart'
import { Columns } from '../../ui/Columns'
import { NotesList } from '../../ui/NotesList'
import { Prose } from '../../ui/Prose'
import { Stack } from '../../ui/Stack'
import { StateNote } from '../../ui/StateNote'
import { BreakEvenPanel, SanityPanel } from './BreakEvenPanel'
import { MachinesTable } from './MachinesTable'
import { PartsPanel } from './PartsPanel'
import { inputWords, partLabel } from './tcoWords'
import { TcoStats } from './TcoStats'
import type { ScenarioState } from './useScenario'

interface TcoResultsProps {
  state: ScenarioState
  answer: TcoAnswer
  option: number
}

/** Totals, what they are made of, which inputs decide, and how sure the saving is. */
export function TcoResults({ state, answer, option }: TcoResultsProps) {
  const shown = answer.options[option]
  const drawn = state.drawing ? undefined : state.drawn
  const lastDrawn = state.drawn?.options[option]
  if (shown === undefined) return null
  return (
    <Stack testId="tco-results">
      <TcoStats answer={answer} option={shown} drawn={drawn?.options[option]} />
      {shown.warnings.map((warning) => (
        <StateNote key={warning} tone="warning" testId="tco-warning">
          <Prose text={warning} />
        </StateNote>
      ))}
      <MachinesTable
        answer={answer}
        drawn={drawn}
        option={option}
        scale={state.search.scale ?? 'host'}
        onOption={(next) => state.setSearch({ option: next === 0 ? undefined : next + 1 })}
        onScale={(scale) => state.setSearch({ scale: scale === 'host' ? undefined : scale })}
      />
      <Columns joinAt={1100}>
        <Waterfall answer={answer} option={shown} state={state} />
        <Tornado answer={answer} option={shown} state={state} />
        <SavingDistributionChart
          found={
            lastDrawn?.distribution === undefined || lastDrawn.distribution === null
              ? undefined
              : { currency: answer.currency, ...lastDrawn.distribution }
          }
          load={state.drawnLoad}
          height={280}
        />
        <Stack>
          <BreakEvenPanel answer={answer} option={shown} />
          <SanityPanel answer={answer} option={shown} />
        </Stack>
      </Columns>
      <PartsPanel answer={answer} option={shown} />
      <NotesList notes={answer.notes} />
    </Stack>
  )
}

interface PartProps {
  answer: TcoAnswer
  option: Option
  state: ScenarioState
}

function Waterfall({ answer, option, state }: PartProps) {
  const base = answer.baseline
  const cost = useMemo(
    () =>
      base === null
        ? undefined
        : {
            currency: answer.currency,
            from: { name: base.name, annual: base.per_host.annual_per_work },
            to: { name: option.name, annual: option.per_host.annual_per_work },
            steps: option.waterfall.map(({ part, delta }) => ({ part: partLabel(part), delta })),
          },
    [answer.currency, base, option],
  )
  return <CostWaterfallChart cost={cost} load={state.load} height={320} hint="per host and year, for the same work" />
}

function Tornado({ answer, option, state }: PartProps) {
  const swings = useMemo(
    () => ({
      currency: answer.currency,
      saving: option.saving,
      swings: option.tornado.map((bar) => {
        const { label, text } = inputWords(bar.input, answer.inputs)
        return {
          label,
          low: text(bar.low),
          high: text(bar.high),
          saving_low: bar.saving_low,
          saving_high: bar.saving_high,
        }
      }),
    }),
    [answer, option],
  )
  return <TornadoChart swings={swings} load={state.load} height={320} />
}
