import { memo, useDeferredValue, useMemo } from 'react'
import type { Option, TcoAnswer } from '../../api/_generated/schema'
import { CostWaterfallChart } from '../../charts/costWaterfall/CostWaterfallChart'
import { SavingDistributionChart } from '../../charts/savingDistribution/SavingDistributionChart'
import type { SavingDraws } from '../../charts/savingDistribution/figure'
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
  /** The last answer with random draws, and whether one of the scenario on screen is under way. */
  drawn: TcoAnswer | undefined
  drawing: boolean
  option: number
}

/** There is an answer: problems of a newer one are shown above. */
const answered: LoadState = { pending: false, refreshing: false, problem: null, retry: () => undefined }

/** Totals, what they are made of, which inputs decide, and how sure the saving is. */
export const TcoResults = memo(function TcoResults(props: TcoResultsProps) {
  const { state, answer, option } = props
  const shown = answer.options[option]
  const drawn = props.drawing ? undefined : props.drawn
  const distribution = props.drawn?.options[option]?.distribution
  const found = useMemo(
    () => (distribution == null ? undefined : { currency: answer.currency, ...distribution }),
    [distribution, answer.currency],
  )
  // Totals answer a moving slider at once; charts follow as soon as there is time for them.
  const later = useDeferredValue(answer)
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
      <TcoEvidence answer={later} option={option} found={found} />
      <NotesList notes={answer.notes} />
    </Stack>
  )
})

interface TcoEvidenceProps {
  answer: TcoAnswer
  option: number
  found: SavingDraws | undefined
}

/** What the totals of an option rest on. */
const TcoEvidence = memo(function TcoEvidence({ answer, option, found }: TcoEvidenceProps) {
  const shown = answer.options[option]
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
  return <CostWaterfallChart cost={cost} load={answered} height={320} hint="per host and year, for the same work" />
}

function Tornado({ answer, option }: PartProps) {
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
  return <TornadoChart swings={swings} load={answered} height={320} />
}
