import { Accordion } from '@mantine/core'
import type { KnobAdvice, KnobChange, KnobEvidence } from '../../api/_generated/schema'
import { readableId } from '../../lib/text/names'
import { countOf, formatQuantity } from '../../lib/units/units'
import { FigureText } from '../../ui/figures/FigureText'
import { Panel } from '../../ui/layout/Panel'
import { ProvenanceChip } from '../../ui/provenance/ProvenanceChip'
import type { Column } from '../../ui/tables/column'
import { DataTable } from '../../ui/tables/DataTable'
import { Prose } from '../../ui/text/Prose'
import { AdviceFiles } from './AdviceFiles'
import { SettingValue } from '../../ui/text/SettingValue'
import classes from './KnobAdviceCard.module.css'

const changeColumns: Column<KnobChange>[] = [
  { key: 'path', header: 'Setting', cell: (row) => <span className="ts-mono">{row.path}</span> },
  { key: 'current', header: 'Now', cell: (row) => <SettingValue path={row.path} value={row.current} /> },
  {
    key: 'proposed',
    header: 'Proposed',
    cell: (row) => (
      <strong className="ts-mono">
        <span aria-hidden>→ </span>
        {row.proposed}
      </strong>
    ),
  },
  { key: 'rollback', header: 'Rollback value', cell: (row) => <span className="ts-mono">{row.rollback}</span> },
]

const evidenceColumns: Column<KnobEvidence>[] = [
  { key: 'metric', header: 'Figure', cell: (row) => readableId(row.metric) },
  {
    key: 'value',
    header: 'Value',
    numeric: true,
    cell: (row) =>
      row.figure === null ? (
        formatQuantity(row.value, row.unit)
      ) : (
        <FigureText figure={row.figure} label={readableId(row.metric)} />
      ),
  },
  {
    key: 'from',
    header: 'From',
    cell: (row) => (row.figure === null ? '' : <ProvenanceChip figure={row.figure} label={readableId(row.metric)} />),
  },
]

interface KnobAdviceCardProps {
  advice: KnobAdvice
  /** Its place in the order in which to try advice; null where it waits. */
  place: number | null
  /** Why it waits; null where it does not. */
  waitsFor?: string | null
}

/** One piece of knob advice: what to change, what it would bring, and what could go wrong; it opens to the evidence. */
export function KnobAdviceCard({ advice, place, waitsFor = null }: KnobAdviceCardProps) {
  return (
    <Panel
      title={`${place === null ? '' : `${place}. `}${advice.title}`}
      hint={
        waitsFor === null ? undefined : (
          <>
            waiting: <Prose text={waitsFor} />
          </>
        )
      }
      flush
      testId={`advice-${advice.rule}`}
    >
      {advice.changes.length > 0 && (
        <DataTable
          label={`Changes of ${advice.rule}`}
          columns={changeColumns}
          rows={advice.changes}
          rowKey={(row) => row.path}
        />
      )}
      <dl className={classes.facts}>
        <div>
          <dt>Expected</dt>
          <dd>
            <Prose text={advice.effect} />
            {advice.effect_figure !== null && (
              <>
                {' '}
                <FigureText figure={advice.effect_figure} label={`Expected effect of ${advice.rule}`} />
              </>
            )}
          </dd>
        </div>
        <div>
          <dt>Risk</dt>
          <dd>
            <Prose text={advice.risk} />
          </dd>
        </div>
        <div>
          <dt>Verify</dt>
          <dd>
            <Prose text={advice.verify} />
          </dd>
        </div>
        {advice.note !== null && (
          <div>
            <dt>Note</dt>
            <dd>
              <Prose text={advice.note} />
            </dd>
          </div>
        )}
        {advice.sources.length > 0 && (
          <div>
            <dt>Sources</dt>
            <dd>
              <Prose text={advice.sources.join('; ')} />
            </dd>
          </div>
        )}
      </dl>
      <Accordion multiple chevronPosition="left" classNames={accordion}>
        {advice.evidence.length > 0 && (
          <Accordion.Item value="evidence">
            <Accordion.Control
              aria-label={`Evidence: ${countOf(advice.evidence.length, 'figure')}, for ${advice.rule}`}
            >
              Evidence: {countOf(advice.evidence.length, 'figure')}
            </Accordion.Control>
            <Accordion.Panel>
              <DataTable
                label={`Evidence for ${advice.rule}`}
                columns={evidenceColumns}
                rows={advice.evidence}
                rowKey={(row) => row.metric}
              />
            </Accordion.Panel>
          </Accordion.Item>
        )}
        {advice.changes.length > 0 && (
          <Accordion.Item value="files">
            <Accordion.Control aria-label={`Files and commands of ${advice.rule}`}>
              Files and commands
            </Accordion.Control>
            <Accordion.Panel>
              <AdviceFiles rule={advice.rule} files={advice.files} />
            </Accordion.Panel>
          </Accordion.Item>
        )}
      </Accordion>
    </Panel>
  )
}

const accordion = {
  item: classes.item ?? '',
  control: classes.control ?? '',
  label: classes.label ?? '',
  content: classes.content ?? '',
}
