import { Button, Checkbox, Group, UnstyledButton } from '@mantine/core'
import { IconFlask } from '@tabler/icons-react'
import type { PlanChange } from '../../../api/_generated/schema'
import { verdictText } from '../../../lib/text/verdicts'
import { GradeTag } from '../../../ui/provenance/GradeTag'
import type { Column } from '../../../ui/tables/column'
import { DataTable, type TableEmpty } from '../../../ui/tables/DataTable'
import { labelledColumn } from '../../../ui/tables/figureColumn'
import { ToneTag } from '../../../ui/tags/ToneTag'
import { BundleButton } from '../../knobs/BundleButton'
import { SettingName } from '../../knobs/SettingName'
import classes from './ChangePlan.module.css'
import { ExpectedEffect } from './ExpectedEffect'

interface ChangePlanTableProps {
  changes: PlanChange[] | undefined
  picked: string[]
  excluded: string[]
  /** The change that is shown in full. */
  shown: string | undefined
  onPick: (id: string) => void
  onShow: (id: string) => void
  onTry: (id: string) => void
  empty: TableEmpty
}

/** One line for each identical change: what to what, on how many hosts, what is at stake and why. */
export function ChangePlanTable(props: ChangePlanTableProps) {
  const { changes, picked, excluded, shown, onPick, onShow, onTry, empty } = props
  const columns: Column<PlanChange>[] = [
    {
      key: 'setting',
      header: 'Setting',
      value: (row) => row.path,
      cell: (row) => (
        <div className={classes.setting}>
          <Checkbox
            aria-label={`Pick ${row.setting} = ${row.proposed}`}
            checked={picked.includes(row.id)}
            onChange={() => onPick(row.id)}
          />
          <UnstyledButton
            className={classes.open}
            aria-pressed={row.id === shown}
            data-shown={row.id === shown}
            onClick={() => onShow(row.id)}
          >
            <SettingName name={row.setting} />
            <span className={classes.dimmed}>{row.title}</span>
          </UnstyledButton>
        </div>
      ),
    },
    {
      key: 'change',
      header: 'Now → advised',
      meaning: 'Values that hosts have now, which are the rollback values, and the value that is advised.',
      value: (row) => `${row.values.map(({ value }) => value).join(', ')} → ${row.proposed}`,
      cell: (row) => (
        <span className={`ts-mono ${row.values.length === 1 ? (classes.whole ?? '') : ''}`}>
          {row.values.map(({ value, hosts }) => (row.values.length === 1 ? value : `${value} (${hosts})`)).join(', ')} →{' '}
          <strong>{row.proposed}</strong>
        </span>
      ),
    },
    { key: 'hosts', header: 'Hosts', numeric: true, cell: (row) => row.hosts.length },
    labelledColumn('stake', 'At stake', (row) => [row.stake_bytes, `At stake with ${row.setting}`], {
      meaning: 'Hot memory outside DRAM plus cold memory in DRAM of these hosts; it counts for each change of a host.',
    }),
    {
      key: 'effect',
      header: 'Expected',
      meaning: 'The median over hosts whose advice has a number; open a change for the effect in words.',
      value: (row) => row.effect_figure,
      cell: (row) =>
        row.effect_figure === null ? (
          <span className={classes.dimmed} title={row.effect}>
            in words
          </span>
        ) : (
          <ExpectedEffect figure={row.effect_figure} />
        ),
    },
    { key: 'grade', header: 'Evidence', cell: (row) => <GradeTag grade={row.grade} /> },
    {
      key: 'why',
      header: 'Verdicts',
      value: (row) => row.reasons.map(({ verdict, hosts }) => `${verdict} (${hosts})`).join(', '),
      cell: (row) => (
        <span className={classes.verdicts}>
          {row.reasons.map(({ verdict, hosts }) => {
            const text = verdictText(verdict)
            return <ToneTag key={verdict} tone={text.tone} label={`${text.label} (${hosts})`} meaning={text.meaning} />
          })}
        </span>
      ),
    },
    {
      key: 'actions',
      header: '',
      cell: (row) => (
        <Group gap={6} wrap="nowrap" justify="flex-end">
          <BundleButton
            choice={{ changes: [row.id], hosts: [], without: excluded }}
            name={`tierscope-${row.id}`}
            label="Bundle"
            title={`Download bundle of ${row.setting} = ${row.proposed}`}
          />
          <Button
            variant="default"
            leftSection={<IconFlask size={14} />}
            onClick={() => onTry(row.id)}
            aria-label={`Try on canaries: ${row.setting} = ${row.proposed}`}
          >
            Try on canaries
          </Button>
        </Group>
      ),
    },
  ]
  return <DataTable label="Change plan" columns={columns} rows={changes} rowKey={(row) => row.id} empty={empty} />
}
