import type { HostKnobAdvice } from '../../api/_generated/schema'
import type { LoadState } from '../../lib/loadState'
import { readableId } from '../../lib/text/names'
import { tierColour } from '../../lib/palette'
import { formatBytes } from '../../lib/units/units'
import { verdictText } from '../../lib/text/verdicts'
import { EmptyState } from '../../ui/states/EmptyState'
import { Nothing } from '../../ui/states/Nothing'
import { Panel } from '../../ui/layout/Panel'
import { ProblemState } from '../../ui/states/ProblemState'
import { Prose } from '../../ui/text/Prose'
import { Stat } from '../../ui/figures/Stat'
import { StateNote } from '../../ui/states/StateNote'
import { StatStrip } from '../../ui/figures/StatStrip'
import { Term } from '../../ui/text/Term'
import { VerdictTag } from '../../ui/tags/VerdictTag'
import { KnobAdviceCard } from './KnobAdviceCard'
import { KnobStates } from './KnobStates'
import { Columns } from '../../ui/layout/Columns'
import { Stack } from '../../ui/layout/Stack'
import classes from './KnobAdviceView.module.css'

interface KnobAdviceViewProps {
  answer: HostKnobAdvice | undefined
  load: LoadState
}

/** Advice on a host's settings: the two figures to act on, cards in the order to try them, and what is not known. */
export function KnobAdviceView({ answer, load }: KnobAdviceViewProps) {
  if (load.problem !== null && answer === undefined) return <ProblemState problem={load.problem} onRetry={load.retry} />
  return (
    <Stack testId="knob-advice">
      <StatStrip label="Key figures" columns={2}>
        <Stat
          label={<Term name="hotOutside">Hot outside DRAM</Term>}
          name="Hot bytes outside DRAM"
          figure={answer?.leading.hot_outside_dram_bytes}
          swatch={tierColour('cxl')}
        />
        <Stat
          label={<Term name="coldInside">Cold in DRAM</Term>}
          name="Cold bytes in DRAM"
          figure={answer?.leading.cold_in_dram_bytes}
          swatch={tierColour('dram')}
        />
      </StatStrip>
      {answer !== undefined && (
        <StateNote tone={verdictText(answer.verdict).tone} testId="knob-verdict">
          <p>
            <VerdictTag verdict={answer.verdict} window={answer.window} />
          </p>
          <p>
            <Prose text={answer.explanation} />
          </p>
        </StateNote>
      )}
      {answer?.advice.map((advice, index) => (
        <KnobAdviceCard key={advice.rule} advice={advice} place={index + 1} />
      ))}
      {answer !== undefined && answer.nothing_to_do !== null && (
        <KnobAdviceCard advice={answer.nothing_to_do} place={null} />
      )}
      {answer !== undefined && answer.advice.length === 0 && answer.nothing_to_do === null && (
        <Panel title="Advice">
          <EmptyState title="No changes advised" next="No rule matches the data; missing data is listed below." />
        </Panel>
      )}
      {answer !== undefined && answer.waiting.length > 0 && (
        <>
          <h2 className={classes.heading}>After the advice above</h2>
          {answer.waiting.map(({ advice, why }) => (
            <KnobAdviceCard key={advice.rule} advice={advice} place={null} waitsFor={why} />
          ))}
        </>
      )}
      {answer !== undefined && answer.notices.length > 0 && (
        <>
          <h2 className={classes.heading}>To know beside it</h2>
          {answer.notices.map((notice) => (
            <KnobAdviceCard key={notice.rule} advice={notice} place={null} />
          ))}
        </>
      )}
      {answer !== undefined && <NotKnown answer={answer} />}
      <KnobStates knobs={answer?.knobs} />
    </Stack>
  )
}

/** What was taken off, and which rules could not be judged. */
function NotKnown({ answer }: { answer: HostKnobAdvice }) {
  return (
    <Columns>
      <Panel title="Excluded" hint="unmovable memory">
        {answer.subtracted.length === 0 ? (
          <p className={classes.text}>Nothing.</p>
        ) : (
          <ul className={classes.list}>
            {answer.subtracted.map((part) => (
              <li key={part.what}>
                <strong>{readableId(part.what)}</strong>:{' '}
                {part.bytes === null ? <Nothing status="not_collected" reason={part.why} /> : formatBytes(part.bytes)}.{' '}
                <Prose text={part.why} />
              </li>
            ))}
          </ul>
        )}
      </Panel>
      <Panel title="Not given" hint="rules with missing data, or forbidden here" testId="knob-unknown">
        {answer.unknown.length + answer.withheld.length === 0 ? (
          <p className={classes.text}>Every rule was evaluated.</p>
        ) : (
          <ul className={classes.list}>
            {answer.withheld.map((rule) => (
              <li key={`withheld ${rule.rule}`}>
                <strong>{rule.rule}</strong>: <Prose text={rule.why} />
              </li>
            ))}
            {answer.unknown.map((rule) => (
              <li key={rule.rule}>
                <strong>{rule.rule}</strong>: missing {rule.missing.join('; ')}
              </li>
            ))}
          </ul>
        )}
      </Panel>
    </Columns>
  )
}
