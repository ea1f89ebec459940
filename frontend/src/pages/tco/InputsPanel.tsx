import { Accordion, Button, SegmentedControl } from '@mantine/core'
import { memo, useState, type ReactNode } from 'react'
import type { InputRange, Option } from '../../api/_generated/schema'
import { valueAt } from '../../lib/tco/scenarioSpec'
import { Panel } from '../../ui/layout/Panel'
import { InputSlider } from './InputSlider'
import { OptionParts } from './OptionParts'
import { skuRanges } from './skuRanges'
import classes from './TcoPage.module.css'
import type { ScenarioState } from './useScenario'

interface InputsPanelProps {
  state: ScenarioState
  /** Position of the option that is shown. */
  option: number
  loss: Option['loss'] | undefined
  onPrices: () => void
}

/** All inputs of the scenario, in groups; only those that its machines need. */
export const InputsPanel = memo(function InputsPanel({ state, option, loss, onPrices }: InputsPanelProps) {
  const [open, setOpen] = useState(['prices', 'option'])
  const { spec, ranges, inputs } = state
  if (spec === undefined) return <Panel title="Inputs">{'\u00a0'}</Panel>
  const needed = new Set(inputs.map(({ name }) => name))
  const of = (group: string) =>
    ranges.filter(({ path }) => path.startsWith(`${group}.`) && needed.has(path.split('.')[1] ?? ''))
  const own = ranges.filter(({ path }) => path.startsWith('options[]'))
  const endurance = of('endurance')
  const name = String(valueAt(spec, `options.${option}.name`) ?? 'Option')
  return (
    <Panel title="Inputs" hint="bold: changed; hover a name for its source and date" flush testId="tco-inputs">
      <Accordion
        multiple
        value={open}
        onChange={setOpen}
        classNames={{ control: classes.group ?? '', label: classes.groupLabel ?? '', content: classes.groupBody ?? '' }}
      >
        <Group open={open} value="prices" title="Prices">
          <Sliders state={state} ranges={of('prices')} option={option} />
          <Button variant="default" size="compact-xs" onClick={onPrices}>
            Price book
          </Button>
        </Group>
        <Group open={open} value="option" title={name}>
          <OptionParts state={state} option={option} loss={loss} />
          <Sliders state={state} ranges={own} option={option} />
        </Group>
        <Group open={open} value="baseline" title="Current machines">
          <Sliders
            state={state}
            ranges={[...skuRanges(spec), ...ranges.filter(({ path }) => path.startsWith('baseline.'))]}
            option={option}
          />
        </Group>
        <Group open={open} value="fleet" title="Fleet and finance">
          <Sliders state={state} ranges={ranges.filter(({ path }) => path.startsWith('fleet.'))} option={option} />
          <Sliders
            state={state}
            ranges={ranges.filter(
              ({ path }) =>
                path.startsWith('finance.') &&
                // Capital in equal parts has no price of money in it.
                (!path.endsWith('discount_rate') || valueAt(spec, 'finance.method') === 'crf'),
            )}
            option={option}
          />
          <SegmentedControl
            fullWidth
            aria-label="Depreciation"
            value={String(valueAt(spec, 'finance.method'))}
            onChange={(method) => state.put('finance.method', method)}
            data={[
              { value: 'straight_line', label: 'Straight-line' },
              { value: 'crf', label: 'Annuity' },
            ]}
          />
        </Group>
        <Group open={open} value="power" title="Power">
          <Sliders state={state} ranges={of('power')} option={option} />
        </Group>
        {endurance.length > 0 && (
          <Group open={open} value="endurance" title="Endurance of swap drives">
            <Sliders state={state} ranges={endurance} option={option} />
          </Group>
        )}
      </Accordion>
    </Panel>
  )
})

/** Inputs that belong together; they are drawn while the group is open. */
function Group(props: { open: string[]; value: string; title: string; children: ReactNode }) {
  const { open, value, title, children } = props
  return (
    <Accordion.Item value={value}>
      <Accordion.Control>{title}</Accordion.Control>
      <Accordion.Panel>{open.includes(value) && children}</Accordion.Panel>
    </Accordion.Item>
  )
}

function Sliders({ state, ranges, option }: { state: ScenarioState; ranges: InputRange[]; option: number }) {
  return ranges.map((range) => <InputSlider key={range.path} state={state} range={range} option={option} />)
}
