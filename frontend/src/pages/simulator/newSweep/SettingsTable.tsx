import { Button, Collapse, Table } from '@mantine/core'
import { useState } from 'react'
import { groundingNames } from '../../../lib/units/figure'
import { threeDigits, unitLabel } from '../../../lib/units/units'
import { Prose } from '../../../ui/text/Prose'
import page from '../SimulatorPage.module.css'
import classes from './SettingsTable.module.css'
import { readValues, type OfferedSetting } from './sweepEntry'
import { TextField } from '../../../ui/inputs/fields'

interface SettingsTableProps {
  settings: OfferedSetting[]
  /** What was typed, by the setting's name. */
  values: Record<string, string>
  onChange: (name: string, typed: string) => void
}

/** Settings of the policies with default, range and unit. One value sets; several are searched over. */
export function SettingsTable({ settings, values, onChange }: SettingsTableProps) {
  const [opened, setOpened] = useState(false)
  const changed = settings.filter(({ name }) => (values[name] ?? '').trim() !== '').length
  return (
    <fieldset className={page.part}>
      <legend>Settings and knob search</legend>
      <Button
        variant="default"
        aria-expanded={opened}
        onClick={() => setOpened(!opened)}
        disabled={settings.length === 0}
      >
        {opened
          ? 'Hide settings'
          : `${settings.length} settings${changed === 0 ? ', all at their default' : `, ${changed} changed`}`}
      </Button>
      <Collapse expanded={opened}>
        <p className={page.facts}>
          Leave a field empty for the default. One value sets it; several, separated by commas, are searched over, each
          combination at each DRAM share.
        </p>
        <div className={classes.scroll} tabIndex={0} role="region" aria-label="Settings">
          <Table verticalSpacing={3} className={classes.table}>
            <Table.Thead>
              <Table.Tr>
                <Table.Th>Setting</Table.Th>
                <Table.Th>Of</Table.Th>
                <Table.Th>Default</Table.Th>
                <Table.Th>Range</Table.Th>
                <Table.Th>Unit</Table.Th>
                <Table.Th>Source</Table.Th>
                <Table.Th>Value, or values to search</Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {settings.map((setting) => (
                <SettingRow
                  key={setting.name}
                  setting={setting}
                  typed={values[setting.name] ?? ''}
                  onChange={(typed) => onChange(setting.name, typed)}
                />
              ))}
            </Table.Tbody>
          </Table>
        </div>
      </Collapse>
    </fieldset>
  )
}

interface SettingRowProps {
  setting: OfferedSetting
  typed: string
  onChange: (typed: string) => void
}

/** Limits of millions and more say an order of magnitude only. */
function shortNumber(value: number): string {
  return value >= 1e6 ? value.toLocaleString('en-US', { notation: 'compact' }) : threeDigits(value)
}

/** `S section 5` as `source paper: section 5`. */
function sourceWords(source: string): string {
  const [mark = '', ...rest] = source.split(' ')
  const name = groundingNames[mark]
  if (name === undefined) return source
  return rest.length === 0 ? name : `${name}: ${rest.join(' ')}`
}

function SettingRow({ setting, typed, onChange }: SettingRowProps) {
  const read = readValues(typed, setting)
  const isSwitch = setting.unit === 'switch'
  const number = (value: number) => (isSwitch ? (value === 0 ? 'off' : 'on') : shortNumber(value))
  return (
    <Table.Tr>
      <Table.Td>
        <code>{setting.name}</code>
      </Table.Td>
      <Table.Td>{setting.usedBy.length > 2 ? `${setting.usedBy.length} policies` : setting.usedBy.join(', ')}</Table.Td>
      <Table.Td>{number(setting.default)}</Table.Td>
      <Table.Td>
        {isSwitch ? 'on or off' : `${shortNumber(setting.lowest)} to ${shortNumber(setting.highest)}`}
      </Table.Td>
      <Table.Td>{isSwitch ? '' : unitLabel(setting.unit)}</Table.Td>
      <Table.Td className={classes.source}>
        <Prose text={sourceWords(setting.source)} />
      </Table.Td>
      <Table.Td>
        <TextField
          aria-label={`Value of ${setting.name}`}
          placeholder={number(setting.default)}
          value={typed}
          error={typeof read === 'string' ? read : undefined}
          onText={onChange}
          rightSectionWidth={68}
          rightSection={
            typeof read !== 'string' && read.length > 1 ? (
              <span className={classes.count}>{read.length} values</span>
            ) : null
          }
        />
      </Table.Td>
    </Table.Tr>
  )
}
