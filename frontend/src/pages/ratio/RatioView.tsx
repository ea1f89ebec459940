import { Accordion, Skeleton } from '@mantine/core'
import type { Ratio } from '../../api/_generated/schema'
import { SweepChart } from '../../charts/sweep/SweepChart'
import type { LoadState } from '../../lib/loadState'
import { Panel } from '../../ui/layout/Panel'
import { CandidatesTable } from './CandidatesTable'
import { ChainLinks } from './ChainLinks'
import { KindsPanel } from './KindsPanel'
import { NextSteps } from './NextSteps'
import { RatioAnswer } from './RatioAnswer'
import { AssumptionsSection, ClassSection, EvidenceSection, FormulaSection } from './RatioEvidence'
import { WhyPanel } from './WhyPanel'
import { Columns } from '../../ui/layout/Columns'
import { Stack } from '../../ui/layout/Stack'
import { countOf } from '../../lib/units/units'
import classes from './RatioView.module.css'

interface RatioViewProps {
  ratio: Ratio | undefined
  load: LoadState
}

/** Ratio advice: the answer in one sentence, every ratio judged, and below it all that the answer rests on. */
export function RatioView({ ratio, load }: RatioViewProps) {
  return (
    <Stack testId="ratio">
      {ratio !== undefined ? (
        <ChainLinks ratio={ratio} />
      ) : (
        load.problem === null && <Skeleton height={26} width={300} />
      )}
      <RatioAnswer ratio={ratio} load={load} />
      {ratio !== undefined && <WhyPanel ratio={ratio} load={load} />}
      {ratio !== undefined && ratio.next_steps.length > 0 && <NextSteps ratio={ratio} />}
      {ratio !== undefined && ratio.kinds.length > 1 && <KindsPanel kinds={ratio.kinds} />}
      {ratio !== undefined && (ratio.sweep !== null || ratio.candidates.length > 0) && (
        <Columns joinAt={1100}>
          <SweepChart ratio={ratio} load={load} height={320} />
          <Panel title="Ratios" hint="bytes of the median host" flush testId="ratio-candidates">
            <CandidatesTable ratio={ratio} />
          </Panel>
        </Columns>
      )}
      {ratio !== undefined && (
        <Accordion multiple variant="separated" chevronPosition="left" classNames={accordion}>
          <Accordion.Item value="evidence">
            <Accordion.Control>Evidence: {countOf(ratio.evidence.length, 'figure')}</Accordion.Control>
            <Accordion.Panel>
              <EvidenceSection ratio={ratio} />
            </Accordion.Panel>
          </Accordion.Item>
          <Accordion.Item value="formula">
            <Accordion.Control>Formula, and what was learned from your measurements</Accordion.Control>
            <Accordion.Panel>
              <FormulaSection ratio={ratio} />
            </Accordion.Panel>
          </Accordion.Item>
          <Accordion.Item value="assumptions">
            <Accordion.Control>Assumptions, and what would change with them</Accordion.Control>
            <Accordion.Panel>
              <AssumptionsSection ratio={ratio} />
            </Accordion.Panel>
          </Accordion.Item>
          <Accordion.Item value="class">
            <Accordion.Control>
              Service class: {ratio.service_class.name === null ? 'unknown' : ratio.service_class.name}
            </Accordion.Control>
            <Accordion.Panel>
              <ClassSection ratio={ratio} />
            </Accordion.Panel>
          </Accordion.Item>
        </Accordion>
      )}
    </Stack>
  )
}

const accordion = {
  item: classes.item ?? '',
  control: classes.control ?? '',
  label: classes.label ?? '',
  content: classes.content ?? '',
}
