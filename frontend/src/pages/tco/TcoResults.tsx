import { memo, useDeferredValue, useMemo } from 'react'
import type { Option, TcoAnswer } from '../../api/_generated/schema'
import { CostWaterfallChart } from '../../charts/costWaterfall/CostWaterfallChart'
import { SavingDistributionChart } from '../../charts/savingDistribution/SavingDistributionChart'
import { TornadoChart } from '../../charts/tornado/TornadoChart'
import type { LoadState } from '../../lib/loadState'
import { Columns } from '../../ui/layout/Columns'
import { NotesList } from '../../ui/text/NotesList'
import { Prose } from '../../ui/text/Prose'
import { Stack } from '../../ui/layout/Stack'
import { StateNote } from '../../ui/states/StateNote'
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

/** There is an answer: problems of a newer one are shown above. */
const answered: LoadState = { pending: false, refreshing: false, problem: null, retry: () => undefined }

/** Totals, what they are made of, which inputs decide, and how sure the saving is. */
export const TcoResults = memo(function TcoResults(props: TcoResultsProps) {
  const { state, answer, option } = props
  const shown = answer.options[option]
  // Totals answer a moving slider at once; charts follow as soon as there is time for them.
  const later = useDeferredValue(answer)
  if (shown === undefined) return null
  return (
    <Stack testId="tco-results">
      <TcoStats answer={answer} option={shown} />
      {shown.warnings.map((warning) => (
        <StateNote key={warning} tone="warning" testId="tco-warning">
          <Prose text={warning} />
        </StateNote>
      ))}
      <MachinesTable
        answer={answer}
        option={option}
        scale={state.search.scale ?? 'host'}
        onOption={(next) => state.setSearch({ option: next === 0 ? undefined : next + 1 })}
        onScale={(scale) => state.setSearch({ scale: scale === 'host' ? undefined : scale })}
      />
      <TcoEvidence answer={later} option={option} />
      <NotesList notes={answer.notes} />
    </Stack>
  )
})

interface TcoEvidenceProps {
  answer: TcoAnswer
  option: number
}

/** What the totals of an option rest on. */
const TcoEvidence = memo(function TcoEvidence({ answer, option }: TcoEvidenceProps) {
  const shown = answer.options[option]
  const found = useMemo(
    () => (shown === undefined ? undefined : { currency: answer.currency, ...shown.distribution }),
    [shown, answer.currency],
  )
  if (shown === undefined) return null
  return (
    <>
      <Columns joinAt={1100}>
        <Waterfall answer={answer} option={shown} />
        <Tornado answer={answer} option={shown} />
        <SavingDistributionChart found={found} load={answered} height={280} />
        <Stack>
          <BreakEvenPanel answer={answer} option={shown} />
          <SanityPanel answer={answer} option={shown} />
        </Stack>
      </Columns>
      <PartsPanel answer={answer} option={shown} />
    </>
  )
})

interface PartProps {
  answer: TcoAnswer
  option: Option
}

function Waterfall({ answer, option }: PartProps) {
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
  return (
    <CostWaterfallChart cost={cost} load={answered} height={320} hint="every input at its value, per host and year" />
  )
}

function Tornado({ answer, option }: PartProps) {
  const swings = useMemo(
    () => ({
      currency: answer.currency,
      saving: option.saving_as_given,
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
  return <TornadoChart swings={swings} load={answered} height={320} />
}
